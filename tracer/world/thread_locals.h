// The thread-local variables of the target, for whoever runs its threads as fibers of one thread of the system: what
// must change hands when another fiber goes on.
//
// These are those of instrumented modules, of the C++ runtime (the exceptions that are being handled, the function of a
// std::call_once), and errno. Not those of the C library otherwise, of this process's own code and of the runtime: they
// belong to the thread of the system.
//
// Known inaccuracy: thread-locals of libraries that nobody instrumented are not listed; all fibers share them.
// Destructors of the target's thread-locals are not run when a fiber ends.
#ifndef POWERCUT_TRACER_WORLD_THREAD_LOCALS_H_
#define POWERCUT_TRACER_WORLD_THREAD_LOCALS_H_

#include <vector>

#include "tracer/world/memory_range.h"

namespace powercut {

struct ThreadLocals {
  MemoryRange range;    // of the calling thread
  MemoryRange initial;  // the first bytes of a new thread's range; the rest is zero
};

// One for each module, in the order of loading, and errno. Valid until a library is loaded or unloaded. Makes the
// ranges of this thread that it has not touched yet, which allocates: not for target code.
std::vector<ThreadLocals> thread_locals();

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_THREAD_LOCALS_H_
