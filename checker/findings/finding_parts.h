// The parts of a finding's event that tell of a crash image.
#ifndef POWERCUT_CHECKER_FINDINGS_FINDING_PARTS_H_
#define POWERCUT_CHECKER_FINDINGS_FINDING_PARTS_H_

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checker/findings/finding.h"
#include "tracer/format/kept_event.h"
#include "tracer/format/reader.h"

namespace powercut {

Json frames_json(std::span<const Frame> frames);

// The stores of an image's lines that were pending at the cut, each with its fate.
struct StoreFates {
  Json stores = Json::array();
  std::set<std::string> decisive;  // sites and fates that name the finding
};
void add_line(const Image::Line& line, const FindingContext& context, StoreFates* out);

// `first`: the lines belong to the first cut, for which floor and visible content are known.
Json image_json(const std::vector<Image::Line>& lines, const FindingContext& context, bool first);
// The events by which the decided lines came to their state.
Json timeline_json(const std::vector<Image::Line>& lines, const FindingContext& context);
// The schedule as turns: which thread ran, in which operation, and where it was left. `operation` names an operation by
// its begin.
Json turns_json(const std::vector<KeptEvent>& schedule, const TraceReader& reader,
                const std::function<std::string(const Event&)>& operation);
// The name of a finding: a digest of `text`, which says everything that distinguishes the finding.
std::string finding_key(const std::string& text);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FINDINGS_FINDING_PARTS_H_
