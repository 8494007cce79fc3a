#include "replayer/undecided/novelty.h"

#include <emmintrin.h>

#include <algorithm>

namespace powercut {
namespace {

// Limit of comparisons of contents; more comparisons cost more than running a query once too often.
constexpr size_t kMostComparisons = 4096;

}  // namespace

uint64_t differing_bytes(const Content& a, const Content& b) {
  uint64_t equal = 0;
  for (size_t i = 0; i < kLineSize; i += 16) {
    const __m128i left = _mm_load_si128(reinterpret_cast<const __m128i*>(&a.bytes[i]));
    const __m128i right = _mm_load_si128(reinterpret_cast<const __m128i*>(&b.bytes[i]));
    equal |= static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(left, right)))) << i;
  }
  return ~equal;
}

Novelty::Novelty(Contents before, Contents now, bool both) {
  if (before.data() == now.data() && before.size() == now.size()) return;
  if (before.size() * now.size() > kMostComparisons) {
    coarse_ = true;
    // Differences from one content span all differences among them.
    for (const Content& content : before) any_ |= differing_bytes(before[0], content);
    for (const Content& content : now) any_ |= differing_bytes(before[0], content);
    return;
  }
  compare(before, now);
  forward_ = rows_.size();
  if (both) compare(now, before);
}

void Novelty::compare(Contents known, Contents maybe) {
  for (uint32_t i = 0; i < maybe.size(); ++i) {
    const auto begin = static_cast<uint32_t>(differences_.size());
    bool fresh = true;
    for (const Content& content : known) {
      const uint64_t difference = differing_bytes(content, maybe[i]);
      fresh = difference != 0;
      if (!fresh) break;
      differences_.push_back(difference);
    }
    if (!fresh) {
      differences_.resize(begin);
      continue;
    }
    for (size_t d = begin; d < differences_.size(); ++d) any_ |= differences_[d];
    rows_.push_back({i, begin, static_cast<uint32_t>(differences_.size())});
  }
}

bool Novelty::row_in(size_t row, uint64_t mask) const {
  const auto begin = differences_.begin();
  return std::all_of(begin + rows_[row].begin, begin + rows_[row].end, [mask](uint64_t d) { return (d & mask) != 0; });
}

bool Novelty::in(uint64_t mask) const {
  if ((any_ & mask) == 0) return false;
  if (coarse_) return true;
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (row_in(row, mask)) return true;
  }
  return false;
}

std::vector<uint32_t> Novelty::contents_in(uint64_t mask) const {
  std::vector<uint32_t> out;
  for (size_t row = 0; row < forward_; ++row) {
    if (row_in(row, mask)) out.push_back(rows_[row].content);
  }
  return out;
}

}  // namespace powercut
