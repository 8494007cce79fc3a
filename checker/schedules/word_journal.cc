#include "checker/schedules/word_journal.h"

#include <algorithm>
#include <cstring>

#include "xxhash.h"

namespace powercut {
namespace {

void mix_in(Digest* digest, const uint64_t (&pair)[2]) {
  const XXH128_hash_t hash = XXH3_128bits(pair, sizeof pair);
  digest->high ^= hash.high64;
  digest->low ^= hash.low64;
}

}  // namespace

void WordJournal::keep(uint64_t begin, uint64_t size) {
  for (uint64_t word = begin & ~uint64_t{7}; word < begin + size; word += 8) words_.push_back({word, word_at(word)});
}

void WordJournal::end_step() {
  scratch_.clear();
  for (size_t i = step_begin_; i < words_.size(); ++i) scratch_.emplace_back(words_[i].address, i);
  std::sort(scratch_.begin(), scratch_.end());
  for (size_t i = 0; i < scratch_.size(); ++i) {
    const uint64_t address = scratch_[i].first;
    if (i > 0 && address == scratch_[i - 1].first) continue;
    const uint64_t old = words_[scratch_[i].second].old, now = word_at(address);
    if (now == old) continue;
    mix_in(&digest_, {address, old});
    mix_in(&digest_, {address, now});
  }
}

void WordJournal::undo(size_t size, const Digest& digest) {
  while (words_.size() > size) {
    std::memcpy(reinterpret_cast<void*>(words_.back().address), &words_.back().old, 8);
    words_.pop_back();
  }
  digest_ = digest;
}

}  // namespace powercut
