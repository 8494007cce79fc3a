#include "tracer/calls/stack_words.h"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace powercut {
namespace {

constexpr uint64_t kNear = 1024;
// Ranges and bytes that one reading takes; a walk through a larger stack is made anew each time.
constexpr size_t kMostRanges = 32;
constexpr uint64_t kMostStackBytes = 16 << 10;

}  // namespace

StackWords::StackWords(std::vector<StackWord> words) {
  std::ranges::sort(words);
  for (const StackWord& word : words) {
    if (ranges_.empty() || word.address > ranges_.back().begin + ranges_.back().size + kNear) {
      ranges_.push_back({word.address, 0});
    }
    Range& range = ranges_.back();
    const uint64_t end = word.address + sizeof word.value;
    size_ += std::max(end - range.begin, range.size) - range.size;
    range.size = std::max(end - range.begin, range.size);
    words_.emplace_back(size_ - range.size + (word.address - range.begin), word.value);
  }
}

bool StackWords::stand_in(pid_t thread) const {
  if (ranges_.size() > kMostRanges || size_ > kMostStackBytes) return false;
  uint8_t now[kMostStackBytes];
  iovec from[kMostRanges];
  for (size_t i = 0; i < ranges_.size(); ++i) from[i] = {reinterpret_cast<void*>(ranges_[i].begin), ranges_[i].size};
  const iovec to = {now, size_};
  if (process_vm_readv(thread, &to, 1, from, ranges_.size(), 0) != static_cast<ssize_t>(size_)) return false;
  return std::ranges::all_of(
      words_, [&](const auto& word) { return std::memcmp(now + word.first, &word.second, sizeof word.second) == 0; });
}

}  // namespace powercut
