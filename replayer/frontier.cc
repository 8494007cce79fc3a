#include "replayer/frontier.h"

#include <algorithm>
#include <bit>

namespace powercut {

const std::vector<Frontier::Change>& Frontier::follow(Model* model) {
  changes_.clear();
  for (uint64_t line : model->take_changed()) follow_line(line, *model);
  return changes_;
}

void Frontier::follow_line(uint64_t line, const Model& model) {
  CandidateSet now = model.candidates(line);
  const auto known = at_.find(line);
  Change change{.line = line, .grew = false, .old_count = 0, .before = {}};
  change.before.line = line;
  if (known != at_.end()) {
    change.before = entries_[known->second].set;
  } else if (pool_ != nullptr) {
    Content content;
    std::memcpy(content.bytes.data(), pool_ + line * kLineSize, kLineSize);
    change.before.contents.push_back(content);
  }
  const std::vector<Content>& before = change.before.contents;
  if (pool_ != nullptr) std::memcpy(pool_ + line * kLineSize, now.contents[0].bytes.data(), kLineSize);
  const bool undecided = now.contents.size() > 1;
  const bool prefix = !before.empty() && before.size() <= now.contents.size() &&
                      std::equal(before.begin(), before.end(), now.contents.begin());
  const bool same = prefix && before.size() == now.contents.size();
  const size_t new_size = now.contents.size();
  if (!same) {
    if (before.size() > 1) count(before.size(), false);
    if (undecided) count(new_size, true);
  }
  if (undecided) {
    Entry& entry = *entry_of(line);
    truncated_ -= entry.truncated;
    truncated_ += now.truncated;
    entry.truncated = now.truncated;
    entry.set.line = line;
    entry.set.contents = std::move(now.contents);
    entry.set.visible = now.visible;
    entry.set.compute_diff();
  } else if (known != at_.end()) {
    drop(line);
  }
  if (same) return;
  change.grew = prefix;
  change.old_count = prefix ? static_cast<uint32_t>(before.size()) : 0;
  if (prefix) change.before = {};
  changes_.push_back(std::move(change));
}

Frontier::Entry* Frontier::entry_of(uint64_t line) {
  const auto [at, fresh] = at_.try_emplace(line, 0);
  if (fresh) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    at->second = free_.back();
    free_.pop_back();
  }
  return &entries_[at->second];
}

void Frontier::drop(uint64_t line) {
  const auto at = at_.find(line);
  Entry& entry = entries_[at->second];
  truncated_ -= entry.truncated;
  entry = {};
  free_.push_back(at->second);
  at_.erase(at);
}

void Frontier::count(uint64_t size, bool in) {
  const auto twos = static_cast<uint64_t>(std::countr_zero(size));
  const uint64_t odd = size >> twos;
  twos_ += in ? twos : -twos;
  undecided_ += in ? 1 : -size_t{1};
  if (odd > 1 && in) odd_ *= odd;
  if (odd > 1 && !in) odd_ /= odd;
  states_known_ = false;
}

const BigInt& Frontier::states() const {
  if (!states_known_) {
    states_ = odd_;
    states_ <<= twos_;
    states_known_ = true;
  }
  return states_;
}

LineSets Frontier::sets() const {
  LineSets out;
  out.reserve(undecided_);
  for (const auto& [line, entry] : at_) out.push_back(&entries_[entry].set);
  std::sort(out.begin(), out.end(), [](const LineSet* a, const LineSet* b) { return a->line < b->line; });
  return out;
}

const LineSet* Frontier::find(uint64_t line) const {
  const auto at = at_.find(line);
  return at == at_.end() ? nullptr : &entries_[at->second].set;
}

std::vector<uint64_t> lines_of(const std::vector<Frontier::Change>& changes) {
  std::vector<uint64_t> out;
  out.reserve(changes.size());
  for (const Frontier::Change& change : changes) out.push_back(change.line);
  return out;
}

}  // namespace powercut
