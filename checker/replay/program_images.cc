#include "checker/replay/program_images.h"

#include <algorithm>
#include <utility>

#include "checker/subjects/program/outputs/finding.h"

namespace powercut {

std::optional<EngineError> ProgramImages::judge(const std::vector<const JudgeRequest*>& wanted, const Tell& tell) {
  if (follower_->trouble()) return std::nullopt;
  const BaseLines changes = follow_images(follower_, pool_, &names_);
  if (auto wrong = workers_->next(follower_->instant().ordinal, changes)) return wrong;
  const LineSets sets = follower_->frontier().sets();
  std::vector<Placed> images;
  std::vector<Choice> unknown;
  std::vector<ImageName> names;
  for (const JudgeRequest* request : wanted) {
    const Placed& image = images.emplace_back(placed(*request, sets));
    if (image.refused || memo_.find(image.name) || std::ranges::find(names, image.name) != names.end()) continue;
    unknown.push_back(image.choice);
    names.push_back(image.name);
  }
  auto ran = workers_->run(sets, unknown, names);
  if (!ran) return ran.error();
  for (size_t i = 0; i < names.size(); ++i) memo_.add(names[i], std::move((*ran)[i]));
  for (size_t i = 0; i < images.size(); ++i) {
    JudgedImage judged;
    judged.refused = images[i].refused;
    if (!judged.refused) judged.violations = violations(memo_[*memo_.find(images[i].name)]);
    tell(*wanted[i], std::move(judged));
  }
  return std::nullopt;
}

ProgramImages::Placed ProgramImages::placed(const JudgeRequest& request, const LineSets& sets) const {
  Placed out;
  if (!request.image.nested.empty()) {
    out.refused = "the recovery of a program is not cut";
    return out;
  }
  PlacedLevel level = place(request.image.first, sets, {pool_, loaded_.pools().space});
  if (level.refused) {
    out.refused = "not a legal image of this trace: " + *level.refused;
    return out;
  }
  for (const LineSet* set : sets) {
    const auto line = std::ranges::find(level.lines, set->line, &Image::Line::line);
    const auto content = std::ranges::find(set->contents, line->content);
    out.choice.push_back(static_cast<uint32_t>(content - set->contents.begin()));
  }
  out.name = names_.of(sets, out.choice);
  return out;
}

Json ProgramImages::violations(const ProgramOutcome& outcome) const {
  Json out = Json::array();
  const auto violation =
      powercut::judge(outcome, expected_->legal(operations_), *expected_, operations_, loaded_.commands());
  if (violation) {
    out.push_back({{"invariant", violation->invariant},
                   {"underlying", nullptr},
                   {"query", query_text(violation->step, loaded_.commands())},
                   {"message", violation->message},
                   {"expected", violation->expected},
                   {"found", violation->found}});
  }
  return out;
}

}  // namespace powercut
