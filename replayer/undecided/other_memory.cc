#include "replayer/undecided/other_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace powercut {
namespace {

constexpr uint64_t kBlock = 4096;

}  // namespace

void OtherMemory::keep(const UndecidedMemory& memory) {
  kept_ = true;
  journal_ = memory.mark().words;
  ranges_ = memory.globals();
  ranges_.push_back({arena.begin, arena.top});
  bytes_.clear();
  for (const MemoryRange& range : ranges_) {
    const auto* at = reinterpret_cast<const uint8_t*>(range.begin);
    bytes_.insert(bytes_.end(), at, at + (range.end - range.begin));
  }
}

void OtherMemory::note_changes(UndecidedMemory* memory) {
  if (!std::exchange(kept_, false)) return;
  const uint8_t* before = bytes_.data();
  for (const MemoryRange& range : ranges_) {
    const auto* now = reinterpret_cast<const uint8_t*>(range.begin);
    const uint64_t size = range.end - range.begin;
    for (uint64_t page = 0; page < size; page += kBlock) {
      const uint64_t length = std::min(kBlock, size - page);
      if (std::memcmp(now + page, before + page, length) == 0) continue;
      for (uint64_t i = page; i < page + length;) {
        const uint64_t word = (range.begin + i) & ~uint64_t{7};
        const uint64_t first = range.begin + i, last = std::min({word + 8, range.end, range.begin + page + length});
        const uint64_t at = i;
        i += last - first;
        if (std::memcmp(now + at, before + at, last - first) == 0 || memory->has_kept(word, journal_)) continue;
        uint64_t old = load_word(reinterpret_cast<const uint8_t*>(word));
        std::memcpy(reinterpret_cast<uint8_t*>(&old) + (first - word), before + at, last - first);
        memory->keep_word(word, old);
      }
    }
    before += size;
  }
}

}  // namespace powercut
