// Counts the lines of the pool that operations read, since a trace holds no loads. A line counts once for an operation,
// and not at all after the operation has stored to it. There are counts of each operation, and sums by kind of
// operation over the explored phases.
//
// Counts the blocks of 256 bytes that an operation reads from the medium as well: blocks of its lines, each block once,
// without lines that a cache of some size still holds.
#ifndef POWERCUT_TRACER_RECORD_LOAD_COUNTER_H_
#define POWERCUT_TRACER_RECORD_LOAD_COUNTER_H_

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace powercut {

// The lines that were used last: a cache that replaces the least recently used line.
class RecentLines {
 public:
  explicit RecentLines(uint64_t capacity) : capacity_(capacity) {}

  // Returns whether the cache held the line; it does from now on.
  bool touch(uint64_t line) {
    if (capacity_ == 0) return false;
    const auto [at, fresh] = places_.try_emplace(line);
    if (!fresh) {
      order_.splice(order_.begin(), order_, at->second);
      return true;
    }
    order_.push_front(line);
    at->second = order_.begin();
    if (order_.size() > capacity_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    return false;
  }

 private:
  uint64_t capacity_;
  std::list<uint64_t> order_;  // the last one used first
  absl::flat_hash_map<uint64_t, std::list<uint64_t>::iterator> places_;
};

class LoadCounter {
 public:
  // The cache outlives operations; with 0 lines every operation finds it empty.
  explicit LoadCounter(uint64_t cached_lines = 0) : cache_(cached_lines) {}

  void load(uint64_t address, uint64_t size) {
    each_line(address, size, [this](uint64_t line) {
      if (!seen_.insert(line).second) return;
      ++read_;
      if (!cache_.touch(line)) blocks_.insert(line / kLinesOfBlock);
    });
  }
  void store(uint64_t address, uint64_t size) {
    each_line(address, size, [this](uint64_t line) {
      if (seen_.insert(line).second) cache_.touch(line);
    });
  }
  void begin() {
    seen_.clear();
    blocks_.clear();
    read_ = 0;
    each_.push_back(0);
    each_blocks_.push_back(0);
  }
  // end() is not called for an operation that a power cut of the scenario ended.
  void end(const char* kind, bool explored) {
    if (explored) lines_[kind] += read_;
    each_.back() = static_cast<uint32_t>(read_);
    each_blocks_.back() = static_cast<uint32_t>(blocks_.size());
  }
  const std::map<std::string, uint64_t>& lines() const { return lines_; }
  // The count of each operation, in the order in which the operations began.
  const std::vector<uint32_t>& each() const { return each_; }
  // The blocks of each operation, in the same order.
  const std::vector<uint32_t>& each_blocks() const { return each_blocks_; }

 private:
  static constexpr uint64_t kLinesOfBlock = 4;

  template <typename Visit>
  static void each_line(uint64_t address, uint64_t size, Visit visit) {
    for (uint64_t line = address / 64; line * 64 < address + size; ++line) visit(line);
  }

  absl::flat_hash_set<uint64_t> seen_, blocks_;
  RecentLines cache_;
  uint64_t read_ = 0;
  std::map<std::string, uint64_t> lines_;
  std::vector<uint32_t> each_, each_blocks_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_LOAD_COUNTER_H_
