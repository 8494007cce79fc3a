// A phase of threads on threads of the system, which is recorded once: one schedule, that the machine chooses.
//
// A thread has the *turn* while it runs code of the target. It takes it at a hook, keeps it through the access that the
// hook announces, and gives it up at the next hook, where whoever is quickest goes on. So accesses have one order, and
// the events of the recording are in it. Locks, waiting loops and threads that an operation starts come to the
// stand-ins of the runtime (thread_hooks.h), as they do when schedules are searched; only who goes on is decided
// elsewhere.
//
// Known inaccuracies: code without hooks keeps the turn until its next hook. If it waits there for another thread, the
// recording does not end, and is given up by who supervises it.
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

// `append` is given the events of the schedule, and a crash point before each event that raises a floor and at each
// begin and end of an operation: between two of these what a power cut may leave only grows. When something goes wrong
// by itself, a trouble is the last. `progress` hears of each turn.
RecordedThreads record_threads(const ThreadWork& work, bool eadr, const std::function<void()>& progress,
                               const std::function<void(const Event&)>& append);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_RECORDED_THREADS_H_
