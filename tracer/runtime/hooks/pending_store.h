// A store that was announced without its value, before the store is made: the callbacks of -fsanitize=thread tell no
// value (callbacks.cc). The store's bytes are read back from memory when the thread next does anything that is
// recorded.
//
// Exact for one thread. Other threads may see pool memory, so no compiler moves a store to it across a callback, which
// is a call of unknown code. The thread's next store, flush, fence or mark begins with settle(). At settle() the store
// has therefore been made, and nothing that is recorded has happened since: the bytes are the store's, and its place in
// the order is right. Not exact:
// - bytes that code without callbacks (inline assembly, libraries that were not rebuilt) stored there in between are
//   taken for the store's;
// - another thread's events in between come before the store, although the store may have been made earlier. A
//   recording of several threads that was made with callbacks therefore gets no verdict (StreamTrace::finish).
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_PENDING_STORE_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_PENDING_STORE_H_

#include <cstdint>

#include "tracer/runtime/hooks/call_site.h"

namespace powercut::runtime {

struct PendingStore {
  uint64_t address = 0, size = 0;  // a size of 0: there is no pending store
  uint32_t flags = 0;
  CallSite site{};
};
extern constinit thread_local PendingStore pending_store;

// Announces the calling thread's pending store.
void settle_pending_store();
inline void settle() {
  if (pending_store.size != 0) [[unlikely]]
    settle_pending_store();
}

// Returns whether code that was compiled with -fsanitize=thread has run in this process.
bool has_callbacks();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_PENDING_STORE_H_
