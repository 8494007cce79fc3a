// A finding as the event of reports/EVENTS.md: the story of one crash image.
#ifndef POWERCUT_CHECKER_NATIVE_FINDING_H_
#define POWERCUT_CHECKER_NATIVE_FINDING_H_

#include "checker/native/event_stream.h"
#include "checker/native/line_timeline.h"
#include "checker/native/oracle.h"
#include "checker/native/process_modules.h"
#include "replayer/frontier.h"
#include "tracer/format/reader.h"

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
#endif  // POWERCUT_CHECKER_NATIVE_FINDING_H_
