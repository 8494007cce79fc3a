// What target code loads: lines of the pool with the bytes of them, and words of its heap with the bits of them.
//
// A query is a function of what it reads, so this is what decides whether it can answer something new (novelty.h). Each
// begin() starts a new epoch: what is kept of a line or word counts only where its stamp is that of the epoch, so that
// nothing needs clearing.
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
  // `heap`: all that the target's heap may ever take. `lines` outlives this.
  ReadLog(MemoryRange heap, LineTable* lines);

  // What the code loads from here on, once each; of the heap only what lies below `heap_end`.
  void begin(uint64_t heap_end);
  // Loads of the heap are followed at first: code loads from its heap more often than from the pool.
  void want_heap(bool wanted) { wants_heap_ = wanted; }
  bool wants_heap() const { return wants_heap_; }
  // Loads are of interest from the pool's beginning up to here. What lies behind in the heap is the execution's own.
  uint64_t end() const { return wants_heap_ ? std::max(heap_end_, heap_.begin) : heap_.begin; }

  const std::vector<uint64_t>& lines() const { return loaded_lines_; }
  const std::vector<uint64_t>& words() const { return loaded_words_; }  // addresses in the heap
  // The bytes of a line that were loaded.
  uint64_t mask(uint64_t line) const {
    const LineInfo& info = (*lines_)[line];
    return info.read_stamp == epoch_ ? info.read_mask : 0;
  }
  // The bits of a word of the heap that were loaded. The rest may be padding, which holds whatever the stack held.
  uint64_t bits(uint64_t word) const {
    const Word& info = words_[index_of(word)];
    return info.stamp == epoch_ ? info.bits : 0;
  }
  // Whether any execution has loaded from the line.
  bool ever(uint64_t line) const { return (*lines_)[line].ever_read != 0; }

  // ---- for the hooks --------------------------------------------------------------------------
  // True, and noted, when something of the line was loaded before.
  bool note_again(uint64_t line, uint64_t mask) {
    LineInfo& info = (*lines_)[line];
    if (info.read_stamp != epoch_) [[unlikely]]
      return false;
    info.read_mask |= mask;
    return true;
  }
  // A line of which nothing was loaded yet.
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
