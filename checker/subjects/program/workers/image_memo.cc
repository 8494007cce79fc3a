#include "checker/subjects/program/workers/image_memo.h"

#include <algorithm>
#include <cstring>

namespace powercut {

void ImageNames::follow(uint64_t line, const LineSet* set) {
  if (const auto old = lines_.find(line); old != lines_.end()) {
    definite_ = definite_ - old->second;
    lines_.erase(old);
  }
  if (set != nullptr) {
    std::vector<ImageName>& names = pending_[line];
    names.clear();
    for (const Content& content : set->contents) names.push_back(name_of_line(line, content));
    return;
  }
  pending_.erase(line);
  const ImageName name = name_of_line(line, content_at(pool_, line));
  if (name == ImageName{}) return;
  definite_ = definite_ + name;
  lines_[line] = name;
}

ImageName ImageNames::of(const LineSets& sets, const Choice& choice) const {
  ImageName out = definite_;
  for (size_t i = 0; i < sets.size(); ++i) out = out + pending_.find(sets[i]->line)->second[choice[i]];
  return out;
}

ImageName ImageNames::of_others(const LineSets& sets, const Choice& choice) const {
  ImageName out = definite_;
  for (size_t i = 0; i < sets.size(); ++i) {
    if (const auto definite = lines_.find(sets[i]->line); definite != lines_.end()) out = out - definite->second;
    out = out + name_of_line(sets[i]->line, sets[i]->contents[choice[i]]);
  }
  return out;
}

BaseLines follow_images(TraceFollower* follower, const uint8_t* pool, ImageNames* names) {
  BaseLines out;
  for (const Frontier::Change& change : follower->follow()) {
    names->follow(change.line, follower->frontier().find(change.line));
    out.emplace_back(change.line, content_at(pool, change.line));
  }
  return out;
}

std::optional<ImageMemo::Id> ImageMemo::find(const ImageName& name) const {
  const auto at = known_.find(name);
  if (at == known_.end()) return std::nullopt;
  return at->second;
}

ImageMemo::Id ImageMemo::intern(ProgramOutcome outcome) {
  Identity identity = {outcome.kind, outcome.step.kind, outcome.step.probe, outcome.code, {}};
  for (const auto& one : outcome.printed) identity.printed.push_back({one.total, one.digest[0], one.digest[1]});
  const auto [at, added] = ids_.try_emplace(std::move(identity), static_cast<Id>(outcomes_.size()));
  if (added) {
    outcomes_.push_back(std::move(outcome));
  } else {
    outcomes_[at->second].left_processes = outcomes_[at->second].left_processes || outcome.left_processes;
  }
  return at->second;
}

ImageMemo::Id ImageMemo::add(const ImageName& name, ProgramOutcome outcome) {
  const Id id = intern(std::move(outcome));
  known_[name] = id;
  return id;
}

}  // namespace powercut
