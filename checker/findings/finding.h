// A finding as the event of reports/EVENTS.md: the story of one crash image.
#ifndef POWERCUT_CHECKER_FINDINGS_FINDING_H_
#define POWERCUT_CHECKER_FINDINGS_FINDING_H_

#include "base/event_stream.h"
#include "checker/oracle/oracle.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

struct FindingContext {
  const Model& model;
  const Frontier& frontier;
  const History& history;
  const LineTimeline& timeline;
  const TraceReader& reader;
  const Instant& instant;
  FrameResolver* frames;
  AtomPolicy policy;
};

Json finding_event(const Exposure& exposure, const FindingContext& context);
Json modules_event(const std::vector<TraceModule>& modules);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FINDINGS_FINDING_H_
