#include "replayer/executor/read_log.h"

#include <algorithm>

#include "tracer/world/quiet_heap.h"

namespace powercut {

ReadLog::ReadLog(MemoryRange heap, LineTable* lines)
    : heap_(heap), lines_(lines), words_((heap.end - heap.begin) / 8) {}

void ReadLog::begin(uint64_t heap_end) {
  loaded_lines_.clear();
  loaded_words_.clear();
  heap_end_ = heap_end;
  ++epoch_;
}

void ReadLog::note_first(uint64_t line, uint64_t mask) {
  LineInfo& info = (*lines_)[line];
  info.read_stamp = epoch_;
  info.read_mask = mask;
  info.ever_read = 1;
  const QuietHeap quiet;
  loaded_lines_.push_back(line);
}

void ReadLog::note_new_in_heap(uint64_t address, uint64_t size) {
  const uint64_t end = std::min(address + size, heap_end_);
  for (uint64_t word = address & ~uint64_t{7}; word < end; word += 8) {
    Word& info = words_[index_of(word)];
    if (info.stamp != epoch_) {
      info = {0, epoch_};
      const QuietHeap quiet;
      loaded_words_.push_back(word);
    }
    const uint64_t first = std::max(word, address), last = std::min(word + 8, address + size);
    info.bits |= spread(static_cast<uint8_t>(line_mask(first - word, last - first)));
  }
}

}  // namespace powercut
