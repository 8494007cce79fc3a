// Simulates the cost of stages and merges of a counting table without the table's bytes: the number of changes of each
// slot is enough. The simulation follows `published` (change.cc), and simulation_test.cc compares the two.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_SIMULATION_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_SIMULATION_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "targets/common/counting/options.h"

namespace powercut::counting::fidelity {

// The columns of Table 2. A block operation reads or writes a block, a page operation a page.
struct Operations {
  uint64_t block = 0, page = 0, merges = 0, stages = 0;
};

class Simulation {
 public:
  // Hears of each write, in order: its first page, and how many. The data segment lies first, then the change segment.
  using Writes = std::function<void(uint64_t first, uint32_t count)>;
  struct Shape {
    Scheme scheme;
    uint32_t blocks, page_entries, block_pages;
    uint32_t log_pages = 0, log_slots = 1;  // of the change segment, as in Geometry
  };

  explicit Simulation(const Shape& shape, Writes writes = nullptr)
      : shape_(shape),
        writes_(std::move(writes)),
        logs_((shape.blocks + shape.log_slots - 1) / shape.log_slots),
        slots_(shape.blocks) {}

  // Returns the pages of both segments.
  uint64_t pages() const { return uint64_t{shape_.blocks} * shape_.block_pages + logs_.size() * shape_.log_pages; }

  const Operations& operations() const { return operations_; }

  // The RAM buffer is full: so many changes in each slot.
  void Stage(const std::vector<uint32_t>& changes) {
    if (shape_.scheme == Scheme::kBounded) {
      ++operations_.merges;
      for (uint32_t slot = 0; slot < changes.size(); ++slot) {
        if (changes[slot] != 0) Rewrite(slot);
      }
      return;
    }
    ++operations_.stages;
    for (uint32_t log = 0; log < logs_.size(); ++log) {
      const uint32_t end = std::min(shape_.blocks, (log + 1) * shape_.log_slots);
      for (uint32_t slot = log * shape_.log_slots; slot < end; ++slot) Append(log, slot, changes[slot]);
      WritePage(log);
    }
  }

  // Returns the reads of a query in the change segment now, on the average over the slots: blocks for MDB, pages for
  // MDB-L (2.7).
  double ReadsOfQuery() const {
    uint64_t reads = 0;
    for (uint32_t slot = 0; slot < shape_.blocks; ++slot) {
      if (shape_.scheme == Scheme::kLinear) reads += slots_[slot].pages;
      if (shape_.scheme == Scheme::kSegmented) reads += logs_[slot / shape_.log_slots].used != 0 ? 1 : 0;
    }
    return static_cast<double>(reads) / shape_.blocks;
  }

  // Merges all changes of the change segment.
  void Finish() {
    if (shape_.scheme == Scheme::kBounded) return;
    for (uint32_t log = 0; log < logs_.size(); ++log) {
      if (logs_[log].used != 0) Merge(log);
    }
  }

 private:
  struct Log {
    uint32_t used = 0;     // pages
    uint32_t entries = 0;  // of the last one; 0: it is full, or there is none
    bool changed = false;  // since it was written
  };
  struct Slot {
    uint32_t pages = 0;  // that hold changes of it
    uint32_t last = 0;   // of them, plus 1
  };

  void Append(uint32_t number, uint32_t slot, uint32_t count) {
    Log& log = logs_[number];
    while (count != 0) {
      if (log.entries == 0) {
        if (log.used == shape_.log_pages) Merge(number);
        ++log.used;
      }
      if (slots_[slot].last != log.used) ++slots_[slot].pages;
      slots_[slot].last = log.used;
      const uint32_t taken = std::min(count, shape_.page_entries - log.entries);
      count -= taken;
      log.entries += taken;
      log.changed = true;
      if (log.entries == shape_.page_entries) {
        WritePage(number);
        log.entries = 0;
      }
    }
  }

  // The page that the log is at.
  void WritePage(uint32_t number) {
    Log& log = logs_[number];
    if (!std::exchange(log.changed, false)) return;
    ++operations_.page;
    Tell(uint64_t{shape_.blocks} * shape_.block_pages + uint64_t{number} * shape_.log_pages + log.used - 1, 1);
  }

  // A data block is read and written.
  void Rewrite(uint32_t slot) {
    operations_.block += 2;
    Tell(uint64_t{slot} * shape_.block_pages, shape_.block_pages);
  }

  void Tell(uint64_t first, uint32_t count) const {
    if (writes_) writes_(first, count);
  }

  void Merge(uint32_t number) {
    ++operations_.merges;
    if (shape_.scheme == Scheme::kSegmented) ++operations_.block;  // the change block
    const uint32_t end = std::min(shape_.blocks, (number + 1) * shape_.log_slots);
    for (uint32_t slot = number * shape_.log_slots; slot < end; ++slot) {
      if (slots_[slot].pages != 0) Rewrite(slot);
      // "Each page will be requested by each data segment block that has entries staged onto it" (2.4).
      if (shape_.scheme == Scheme::kLinear) operations_.page += slots_[slot].pages;
      slots_[slot] = {};
    }
    logs_[number] = {};
  }

  Shape shape_;
  Writes writes_;
  std::vector<Log> logs_;
  std::vector<Slot> slots_;
  Operations operations_;
};

}  // namespace powercut::counting::fidelity
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_FIDELITY_SIMULATION_H_
