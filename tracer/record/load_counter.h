// Counts the lines of the pool that operations read, since a trace holds no loads. A line counts once for an operation,
// and not at all after the operation has stored to it. There are counts of each operation, and sums by kind of
// operation over the explored phases.
#ifndef POWERCUT_TRACER_RECORD_LOAD_COUNTER_H_
#define POWERCUT_TRACER_RECORD_LOAD_COUNTER_H_

#include <absl/container/flat_hash_set.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace powercut {

class LoadCounter {
 public:
  void load(uint64_t address, uint64_t size) {
    each_line(address, size, [this](uint64_t line) { read_ += seen_.insert(line).second ? 1 : 0; });
  }
  void store(uint64_t address, uint64_t size) {
    each_line(address, size, [this](uint64_t line) { seen_.insert(line); });
  }
  void begin() {
    seen_.clear();
    read_ = 0;
    each_.push_back(0);
  }
  // end() is not called for an operation that a power cut of the scenario ended.
  void end(const char* kind, bool explored) {
    if (explored) lines_[kind] += read_;
    each_.back() = static_cast<uint32_t>(read_);
  }
  const std::map<std::string, uint64_t>& lines() const { return lines_; }
  // The count of each operation, in the order in which the operations began.
  const std::vector<uint32_t>& each() const { return each_; }

 private:
  template <typename Visit>
  static void each_line(uint64_t address, uint64_t size, Visit visit) {
    for (uint64_t line = address / 64; line * 64 < address + size; ++line) visit(line);
  }

  absl::flat_hash_set<uint64_t> seen_;
  uint64_t read_ = 0;
  std::map<std::string, uint64_t> lines_;
  std::vector<uint32_t> each_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_LOAD_COUNTER_H_
