#include "replayer/executor/write_log.h"

#include <algorithm>
#include <utility>

#include "tracer/world/quiet_heap.h"

namespace powercut {
namespace {

// Returns the mask of the bytes of a word that are not zero.
uint64_t bytes_of(uint64_t word) {
  uint64_t out = 0;
  for (uint64_t b = 0; b < 8; ++b) out |= uint64_t{(word >> (8 * b) & 0xff) != 0} << b;
  return out;
}

}  // namespace

void WriteLog::keep(uint64_t address, uint64_t size) {
  const QuietHeap quiet;
  const bool in_pool = memory_->pool_range().holds(address, size);
  if (!in_pool && !memory_->heap_range().holds(address, size)) {
    noted_->globals = true;
    return;
  }
  auto& lines = in_pool ? noted_->pool : noted_->heap;
  const uint64_t begin = address - (in_pool ? kPoolBase : memory_->heap_begin());
  for_each_line(begin, begin + size, [&lines](uint64_t line, uint64_t mask) { lines[line] |= mask; });
}

WriteSet WriteLog::left(const UndecidedMemory::Mark& since) const {
  const WriteSet& stored = *noted_;
  WriteSet out;
  if (stored.empty()) return out;
  const absl::flat_hash_map<uint64_t, uint64_t> before = memory_->before(since);
  // Like the heap below, globals are the same in all states that are compared.
  if (stored.globals) {
    const auto words = memory_->changed_globals(since);
    out.globals =
        std::any_of(words.begin(), words.end(), [&](const auto& word) { return before.at(word.first) != word.second; });
  }
  const auto add = [&](uint64_t base, uint64_t line, uint64_t mask, uint64_t loaded, auto* lines) {
    uint64_t changed = 0;
    for (uint64_t w = 0; w < kLineSize; w += 8) {
      const auto known = before.find(base + line * kLineSize + w);
      if (known == before.end()) continue;
      changed |= bytes_of(known->second ^ load_word(reinterpret_cast<const uint8_t*>(known->first))) << w;
    }
    if (const uint64_t kept = mask & (changed | ~loaded)) (*lines)[line] = kept;
  };
  for (const auto& [line, mask] : stored.pool) {
    // Decisions of a line are in the journal as well: the line's oldest entries need not be bytes that the execution
    // has overwritten.
    if (memory_->is_pending(line)) {
      out.pool[line] = mask;
    } else {
      add(reinterpret_cast<uint64_t>(memory_->pool()), line, mask, reads_->mask(line), &out.pool);
    }
  }
  // As long as nobody follows reads of the heap, the heap is the same in all states that are compared.
  for (const auto& [line, mask] : stored.heap) {
    uint64_t loaded = reads_->wants_heap() ? 0 : ~uint64_t{0};
    for (uint64_t w = 0; reads_->wants_heap() && w < kLineSize; w += 8) {
      loaded |= bytes_of(reads_->bits(memory_->heap_begin() + line * kLineSize + w)) << w;
    }
    add(memory_->heap_begin(), line, mask, loaded, &out.heap);
  }
  return out;
}

}  // namespace powercut
