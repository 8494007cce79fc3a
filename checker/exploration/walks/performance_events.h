// Performance bugs of a recorded program, as events (reports/EVENTS.md).
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_PERFORMANCE_EVENTS_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_PERFORMANCE_EVENTS_H_

#include <functional>
#include <vector>

#include "checker/subjects/program/images/trace_pools.h"
#include "checker/subjects/program/options.h"

namespace powercut {

// Walks the whole trace with the model of `options`. Returns no event if a part of the run is missing from the trace,
// since its flushes are missing as well. Returns none for a tree of schedules, where each schedule has its own bugs,
// and none after an interruption.
Result<std::vector<Json>> performance_events(const ProgramOptions& options, const TracePools& pools,
                                             const std::function<bool()>& interrupted);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_PERFORMANCE_EVENTS_H_
