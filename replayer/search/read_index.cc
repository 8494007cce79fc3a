#include "replayer/search/read_index.h"

namespace powercut {
namespace {

// A line that more groups read than this (a root, the handle in the heap) is not worth a list: when it changes in
// bytes that any of them reads, all are asked.
constexpr size_t kListed = 1024;

}  // namespace

uint64_t* ReadIndex::Reads::find(uint64_t line) {
  uint32_t at = next_;
  if (at >= lines_.size() || lines_[at].first != line) {
    if (places_ != nullptr) {
      const auto place = places_->find(line);
      if (place == places_->end()) return nullptr;
      at = place->second;
    } else {
      for (at = 0; at < lines_.size() && lines_[at].first != line;) ++at;
      if (at == lines_.size()) return nullptr;
    }
  }
  next_ = at + 1;
  return &lines_[at].second;
}

void ReadIndex::Reads::add(uint64_t line, uint64_t mask) {
  lines_.emplace_back(line, mask);
  next_ = static_cast<uint32_t>(lines_.size());
  if (lines_.size() <= kFew) return;
  if (places_ != nullptr) {
    places_->emplace(line, next_ - 1);
    return;
  }
  places_ = std::make_unique<absl::flat_hash_map<uint64_t, uint32_t>>();
  for (uint32_t i = 0; i < next_; ++i) places_->emplace(lines_[i].first, i);
}

void ReadIndex::note(Group group, Reads* reads, uint64_t line, uint64_t mask) {
  if (uint64_t* known = reads->find(line); known != nullptr) {
    if ((mask & ~*known) == 0) return;
    *known |= mask;
    Readers& readers = lines_[line];
    readers.any |= mask;
    for (Reader& reader : readers.groups) {
      if (reader.group != code_of(group)) continue;
      reader.low = static_cast<uint32_t>(*known);
      reader.high = static_cast<uint32_t>(*known >> 32);
    }
    return;
  }
  Readers& readers = lines_[line];
  readers.any |= mask;
  if (readers.everyone) return;
  if (readers.groups.size() == kListed) {
    readers.everyone = true;
    readers.groups = {};
    return;
  }
  reads->add(line, mask);
  readers.groups.push_back({code_of(group), static_cast<uint32_t>(mask), static_cast<uint32_t>(mask >> 32)});
}

const ReadIndex::Readers* ReadIndex::find(uint64_t line) const {
  const auto found = lines_.find(line);
  return found == lines_.end() ? nullptr : &found->second;
}

}  // namespace powercut
