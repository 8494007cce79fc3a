#include "replayer/explorer/read_index.h"

namespace powercut {
namespace {

// A line that more groups read than this (a root, the handle in the heap) is not worth a list: when it changes in
// bytes that any of them reads, all are asked.
constexpr size_t kListed = 1024;

}  // namespace

void ReadIndex::note(Group group, Reads* reads, uint64_t line, uint64_t mask) {
  for (auto& [known, known_mask] : *reads) {
    if (known != line) continue;
    if ((mask & ~known_mask) == 0) return;
    known_mask |= mask;
    Readers& readers = lines_[line];
    readers.any |= mask;
    for (Reader& reader : readers.groups) {
      if (reader.group != code_of(group)) continue;
      reader.low = static_cast<uint32_t>(known_mask);
      reader.high = static_cast<uint32_t>(known_mask >> 32);
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
  reads->emplace_back(line, mask);
  readers.groups.push_back({code_of(group), static_cast<uint32_t>(mask), static_cast<uint32_t>(mask >> 32)});
}

const ReadIndex::Readers* ReadIndex::find(uint64_t line) const {
  const auto found = lines_.find(line);
  return found == lines_.end() ? nullptr : &found->second;
}

}  // namespace powercut
