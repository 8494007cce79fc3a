// The device as the tables use it: pages and blocks, and what they cost.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_DEVICE_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_DEVICE_H_

#include <cstdint>

#include "powercut/block.h"

namespace powercut::counting {

enum class Durable : uint8_t { kAtFlush, kAtReturn };

// Pages are numbered from 0; a block is a run of them. Reads and writes answer false beyond the end, and where a page
// cannot be read.
class Device {
 public:
  struct Counts {
    uint64_t page_reads = 0, page_writes = 0, block_reads = 0, block_writes = 0, block_erases = 0, flushes = 0;
  };

  Device(powercut_pool pool, uint32_t page_size, uint32_t sectors)
      : block_(powercut_block_in(pool, page_size / sectors, /*unit=*/1, /*write_cache=*/1)), sectors_(sectors) {}

  uint64_t pages() const { return block_.sectors / sectors_; }
  const Counts& counts() const { return counts_; }

  bool Read(uint64_t page, void* out) {
    ++counts_.page_reads;
    return Get(page, 1, out);
  }
  bool ReadBlock(uint64_t first, uint64_t count, void* out) {
    ++counts_.block_reads;
    return Get(first, count, out);
  }
  bool Write(uint64_t page, const void* data, Durable durable = Durable::kAtFlush) {
    ++counts_.page_writes;
    return Put(page, 1, data, durable == Durable::kAtReturn ? POWERCUT_BLOCK_FUA : 0u);
  }
  bool WriteBlock(uint64_t first, uint64_t count, const void* data) {
    ++counts_.block_writes;
    return Put(first, count, data, 0);
  }
  // The pages read as zeroes.
  bool EraseBlock(uint64_t first, uint64_t count) {
    ++counts_.block_erases;
    return powercut_block_trim(&block_, first * sectors_, count * sectors_) == 0;
  }
  void Flush() {
    ++counts_.flushes;
    powercut_block_flush(&block_);
  }

  // Where a byte of a page lies in the pool: its sector. For drawings.
  const void* PlaceOf(uint64_t page, uint32_t byte = 0) const {
    return powercut_block_word(&block_, page * sectors_ + byte / block_.sector_size);
  }
  static constexpr uint64_t kPlaceSize = sizeof(uint64_t);

 private:
  bool Get(uint64_t first, uint64_t count, void* out) const {
    return powercut_block_read(&block_, first * sectors_, count * sectors_, out) == 0;
  }
  bool Put(uint64_t first, uint64_t count, const void* data, unsigned flags) const {
    return powercut_block_write(&block_, first * sectors_, count * sectors_, data, flags) == 0;
  }

  powercut_block block_;
  uint32_t sectors_;
  Counts counts_;
};

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_DEVICE_H_
