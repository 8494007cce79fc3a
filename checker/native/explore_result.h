// What an exploration came to, as the events that say so: `hygiene` for each site, then `result`.
#ifndef POWERCUT_CHECKER_NATIVE_EXPLORE_RESULT_H_
#define POWERCUT_CHECKER_NATIVE_EXPLORE_RESULT_H_

#include "checker/native/event_stream.h"
#include "checker/native/workers.h"

namespace powercut {

// `stacks` has read the whole trace.
Json hygiene_event(const HygieneRow& row, const TraceReader& stacks);
Json result_event(const Session& session, const ExploreOptions& options, const Explored& explored, double seconds);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_EXPLORE_RESULT_H_
