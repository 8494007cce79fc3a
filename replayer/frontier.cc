#include "replayer/frontier.h"

namespace powercut {

std::vector<uint64_t> Frontier::follow(Model* model) {
  std::vector<uint64_t> changed = model->take_changed();
  for (uint64_t line : changed) {
    CandidateSet candidates = model->candidates(line);
    const auto at = lines_.find(line);
    if (at != lines_.end()) {
      truncated_ -= at->second->truncated;
      if (candidates.contents.size() == 1) lines_.erase(at);
    }
    if (pool_ != nullptr) std::memcpy(pool_ + line * kLineSize, candidates.contents[0].bytes.data(), kLineSize);
    if (candidates.contents.size() == 1) continue;
    auto entry = std::make_unique<Entry>();
    entry->set.line = line;
    entry->set.contents = std::move(candidates.contents);
    entry->set.visible = candidates.visible;
    entry->set.compute_diff();
    entry->truncated = candidates.truncated;
    truncated_ += entry->truncated;
    lines_[line] = std::move(entry);
  }
  return changed;
}

LineSets Frontier::sets() const {
  LineSets out;
  out.reserve(lines_.size());
  for (const auto& [line, entry] : lines_) out.push_back(&entry->set);
  return out;
}

const LineSet* Frontier::find(uint64_t line) const {
  const auto at = lines_.find(line);
  return at == lines_.end() ? nullptr : &at->second->set;
}

}  // namespace powercut
