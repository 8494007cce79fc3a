// A log of the loads of target code: lines of the pool with masks of bytes, and words of the target's heap with masks
// of bits.
//
// A query is a function of the bytes that it loads. Therefore the log decides whether the query can answer something
// new (novelty.h). Each begin() starts a new epoch. The entry of a line or word counts only if its stamp is the number
// of the epoch, so that nothing needs clearing.
#ifndef POWERCUT_REPLAYER_EXECUTOR_READ_LOG_H_
#define POWERCUT_REPLAYER_EXECUTOR_READ_LOG_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "replayer/undecided/line_set.h"
#include "replayer/undecided/line_table.h"
#include "tracer/world/memory_range.h"

namespace powercut {

class ReadLog {
 public:
  // `heap`: all addresses that the target's heap may ever take. `lines` outlives this.
  ReadLog(MemoryRange heap, LineTable* lines);

  // Clears the log. Loads from here on are noted, each line and word once; loads of the heap only below `heap_end`.
  void begin(uint64_t heap_end);
  // Says whether loads of the heap are noted; they are at first. Code loads from its heap more often than from the
  // pool.
  void want_heap(bool wanted) { wants_heap_ = wanted; }
  bool wants_heap() const { return wants_heap_; }
  // Returns the address up to which loads are of interest, from the pool's beginning. Heap behind this address is the
  // execution's own.
  uint64_t end() const { return wants_heap_ ? std::max(heap_end_, heap_.begin) : heap_.begin; }

  const std::vector<uint64_t>& lines() const { return loaded_lines_; }
  const std::vector<uint64_t>& words() const { return loaded_words_; }  // addresses in the heap
  // Returns the bytes of a line that were loaded.
  uint64_t mask(uint64_t line) const {
    const LineInfo& info = (*lines_)[line];
    return info.read_stamp == epoch_ ? info.read_mask : 0;
  }
  // Returns the bits of a word of the heap that were loaded. The other bits may be padding, with whatever the stack
  // held.
  uint64_t bits(uint64_t word) const {
    const Word& info = words_[index_of(word)];
    return info.stamp == epoch_ ? info.bits : 0;
  }
  // Returns whether any execution has loaded from the line.
  bool ever(uint64_t line) const { return (*lines_)[line].ever_read != 0; }

  // ---- for the hooks --------------------------------------------------------------------------
  // Notes a load if a part of the line was loaded before in this epoch, and returns whether that was so.
  bool note_again(uint64_t line, uint64_t mask) {
    LineInfo& info = (*lines_)[line];
    if (info.read_stamp != epoch_) [[unlikely]]
      return false;
    info.read_mask |= mask;
    return true;
  }
  // Notes the first load from a line in this epoch.
  void note_first(uint64_t line, uint64_t mask);
  void note_heap(uint64_t address, uint64_t size) {
    const uint64_t in_word = address % 8;
    if (in_word + size <= 8 && address < heap_end_) [[likely]] {
      const Word& info = words_[index_of(address - in_word)];
      const uint64_t bits = spread(static_cast<uint8_t>(line_mask(in_word, size)));
      if (info.stamp == epoch_ && (info.bits & bits) == bits) return;
    }
    note_new_in_heap(address, size);
  }

 private:
  struct Word {
    uint64_t bits;
    uint32_t stamp;
  };
  void note_new_in_heap(uint64_t address, uint64_t size);
  uint64_t index_of(uint64_t word) const { return (word - heap_.begin) / 8; }

  MemoryRange heap_;
  LineTable* lines_;
  LazyArray<Word> words_;
  std::vector<uint64_t> loaded_lines_, loaded_words_;
  uint64_t heap_end_ = 0;
  uint32_t epoch_ = 0;
  bool wants_heap_ = true;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_READ_LOG_H_
