// Performance bugs as events: `persisting` where stores are made durable for nothing, and `performance_bug` for each
// place.
#ifndef POWERCUT_CHECKER_EXPLORATION_PERFORMANCE_EVENTS_H_
#define POWERCUT_CHECKER_EXPLORATION_PERFORMANCE_EVENTS_H_

#include <vector>

#include "base/event_stream.h"
#include "checker/exploration/performance_bugs.h"

namespace powercut {

// `stacks` has read the whole trace.
std::vector<Json> performance_events(const std::vector<PerformanceBug>& rows, const Persisting& persisting,
                                     const TraceReader& stacks);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_PERFORMANCE_EVENTS_H_
