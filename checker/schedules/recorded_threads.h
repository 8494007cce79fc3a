// A phase of threads on threads of the system, recorded once: one schedule, which the machine chooses.
//
// A thread has the *turn* while it runs code of the target. The thread takes the turn at a hook and keeps it through
// the access that the hook announces. It gives the turn up at the next hook, where the quickest thread goes on.
// Accesses therefore have one order, which the events of the recording follow. Locks, waiting loops and threads that an
// operation starts come to the stand-ins of the runtime (thread_hooks.h), as in a search of schedules; only the choice
// of the next thread is made elsewhere.
//
// Known inaccuracies: code without hooks keeps the turn until its next hook. If such code waits for another thread, the
// recording does not end, and its supervisor gives it up.
#ifndef POWERCUT_CHECKER_SCHEDULES_RECORDED_THREADS_H_
#define POWERCUT_CHECKER_SCHEDULES_RECORDED_THREADS_H_

#include <functional>
#include <string>

#include "checker/schedules/thread_work.h"
#include "tracer/format/trace.h"

namespace powercut {

struct RecordedThreads {
  uint64_t turns = 0;  // taken
  uint64_t cuts = 0;
  std::string doubt;        // why the recording is not all that the threads have done
  std::string unsupported;  // an operation that answered UNSUPPORTED
};

// `append` is given the events of the schedule and its crash points. A crash point stands before each event that raises
// a floor, and at each begin and end of an operation. Between two crash points the images that a power cut may leave
// only grow in number. When the schedule goes wrong without a power cut, a trouble is the last event. `progress` is
// called at each turn.
RecordedThreads record_threads(const ThreadWork& work, bool eadr, const std::function<void()>& progress,
                               const std::function<void(const Event&)>& append);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_RECORDED_THREADS_H_
