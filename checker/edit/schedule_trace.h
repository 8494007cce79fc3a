// One schedule of a tree (tracer/format/FORMAT.md) as a trace of its own, up to a crash point. It is a run like any
// other, so that all that works on traces works on it.
#ifndef POWERCUT_CHECKER_EDIT_SCHEDULE_TRACE_H_
#define POWERCUT_CHECKER_EDIT_SCHEDULE_TRACE_H_

#include <string>

#include "base/result.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

// The marker that stands in a program's trace where the tree had its fork.
inline constexpr const char* kScheduleBegins = "powercut: the schedule begins";

struct ScheduleTrace {
  uint64_t events = 0;
  uint64_t first = 0;  // of the schedule: events before it are of one thread
};

// Writes the schedule of `trace`, at whose beginning `follower` stands, that leads to the crash point with the number
// `crash_point`. A usage error where the trace has no such crash point, or is no tree.
Result<ScheduleTrace> write_schedule(const std::string& trace, TraceFollower& follower, uint64_t crash_point,
                                     const std::string& out);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EDIT_SCHEDULE_TRACE_H_
