#include "checker/replay/program_image_judge.h"

#include <algorithm>
#include <utility>

#include "checker/subjects/program/outputs/finding.h"

namespace powercut {

std::optional<EngineError> ProgramImageJudge::run(const std::vector<JudgeRequest>& requests, const std::string& path,
                                                  const std::function<void(const Json&)>& emit) {
  RequestQueue queue(requests);
  const auto saw = [this](const Event& event) { operations_.apply(event); };
  while (!queue.done(follower_->crash_points()) && follower_->next(saw)) {
    const std::vector<const JudgeRequest*> wanted = queue.at(follower_->instant().ordinal);
    if (wanted.empty() || follower_->trouble()) continue;
    const BaseLines changes = follow_images(follower_, pool_, &names_);
    if (auto wrong = workers_->next(follower_->instant().ordinal, changes)) return wrong;
    if (auto wrong = crash_point(wanted, emit)) return wrong;
  }
  if (const auto error = follower_->error()) return usage_error(*error);
  return queue.left_over(follower_->crash_points(), path);
}

std::optional<EngineError> ProgramImageJudge::crash_point(const std::vector<const JudgeRequest*>& wanted,
                                                          const std::function<void(const Json&)>& emit) {
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
  for (const Placed& image : images) emit(judged(image));
  return std::nullopt;
}

ProgramImageJudge::Placed ProgramImageJudge::placed(const JudgeRequest& request, const LineSets& sets) const {
  Placed out{&request, std::nullopt, {}, {}};
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

Json ProgramImageJudge::judged(const Placed& placed) const {
  const Instant& instant = follower_->instant();
  Json wrong = Json::array();
  if (!placed.refused) {
    const ProgramOutcome& outcome = memo_[*memo_.find(placed.name)];
    if (const auto violation =
            judge(outcome, expected_->legal(operations_), *expected_, operations_, loaded_.commands())) {
      wrong.push_back({{"invariant", violation->invariant},
                       {"underlying", nullptr},
                       {"query", query_text(violation->step, loaded_.commands())},
                       {"message", violation->message},
                       {"expected", violation->expected},
                       {"found", violation->found}});
    }
  }
  return {{"event", "judged"},
          {"id", placed.request->id},
          {"crash_point", instant.ordinal},
          {"crash_event", instant.event},
          {"when", instant.when},
          {"legal", !placed.refused},
          {"why", placed.refused ? Json(*placed.refused) : Json(nullptr)},
          {"violations", std::move(wrong)}};
}

}  // namespace powercut
