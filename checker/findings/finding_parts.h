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

// `first`: the lines are those of the first cut, of which floor and visible content are known.
Json image_json(const std::vector<Image::Line>& lines, const FindingContext& context, bool first);
// How the lines that were decided came to their state.
Json timeline_json(const std::vector<Image::Line>& lines, const FindingContext& context);
// The schedule as turns: which thread ran, in which operation, and where it was left. `operation` names one by its
// begin.
Json turns_json(const std::vector<KeptEvent>& schedule, const TraceReader& reader,
                const std::function<std::string(const Event&)>& operation);
// The name of a finding: a digest of what makes it a different one.
std::string finding_key(const std::string& text);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FINDINGS_FINDING_PARTS_H_
