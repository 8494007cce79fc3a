// The device as the tables use it: pages and blocks, and their costs. The device is a block device of the engine, or an
// SSD of ../ftl on raw flash.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_DEVICE_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_DEVICE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "powercut/block.h"
#include "targets/common/counting/options.h"
#include "targets/common/ftl/ssd.h"

namespace powercut::counting {

enum class Durable : uint8_t { kAtFlush, kAtReturn };

// Pages are numbered from 0; a block is a run of them. Reads and writes answer false beyond the end, and where a page
// cannot be read.
class Device {
 public:
  struct Counts {
    uint64_t page_reads = 0, page_writes = 0, block_reads = 0, block_writes = 0, block_erases = 0, flushes = 0;
  };
  // From now on reads are counted as well. Reads are not counted where a table is judged: a lookup that moves a counter
  // changes the state for the next lookup (../ftl/settings.h).
  void CountReads() { reads_counted_ = true; }

  // With so many pages in use.
  Device(powercut_pool pool, const Options& options, uint64_t pages)
      : block_(powercut_block_in(pool, options.page / options.sectors, /*unit=*/1, /*write_cache=*/1)),
        page_size_(options.page),
        sectors_(options.sectors) {
    if (options.ftl != Layer::kNone) ssd_.emplace(pool, SsdOf(options, pages));
  }

  // Describes the device for the engine.
  static powercut_device Describe(const Options& options) {
    if (options.ftl != Layer::kNone) return ftl::Ssd::DeviceOf(SsdOf(options, 0));
    return {.medium = POWERCUT_BLOCK, .bytes = options.page / options.sectors, .unit = 1};
  }

  // A new device, or one that was formatted. False: the pool is too small, or no SSD is there.
  bool Format() { return !ssd_ || (ssd_->nand().Fits() && ssd_->Format() == ftl::Status::kOk); }
  bool Open() { return !ssd_ || (ssd_->nand().Fits() && ssd_->Open() == ftl::Status::kOk); }

  uint64_t pages() const { return ssd_ ? ssd_->logical() : block_.sectors / sectors_; }
  const Counts& counts() const { return counts_; }

  bool Read(uint64_t page, void* out) {
    if (reads_counted_) ++counts_.page_reads;
    return Get(page, out);
  }
  // The bytes of a page, in `room` or where an SSD has them; null where Read() answers false.
  const uint8_t* Look(uint64_t page, std::vector<uint8_t>* room) {
    if (reads_counted_) ++counts_.page_reads;
    return Find(page, room);
  }
  // Returns page `p` of a block. The caller reads all pages of the block one after the other.
  const uint8_t* LookInBlock(uint64_t first, uint32_t p, std::vector<uint8_t>* room) {
    if (reads_counted_ && p == 0) ++counts_.block_reads;
    return Find(first + p, room);
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
    if (!ssd_) return powercut_block_trim(&block_, first * sectors_, count * sectors_) == 0;
    for (uint64_t page = first; page < first + count; ++page) {
      if (!Holds(page)) return false;
      if (ssd_->Has(Logical(page)) && ssd_->Trim(Logical(page)) != ftl::Status::kOk) return false;
    }
    return true;
  }
  // An SSD has no cache: what was written is durable.
  void Flush() {
    ++counts_.flushes;
    if (!ssd_) powercut_block_flush(&block_);
  }

  // Where a byte of a page lies in the pool: its sector, or its page of flash. For drawings.
  const void* PlaceOf(uint64_t page, uint32_t byte = 0) const {
    if (!ssd_) return powercut_block_word(&block_, page * sectors_ + byte / block_.sector_size);
    return ssd_->nand().PlaceOf(ssd_->Has(Logical(page)) ? ssd_->PageOf(Logical(page)) : 0);
  }
  static constexpr uint64_t kPlaceSize = sizeof(uint64_t);

 private:
  // An SSD that is right, whatever the table is.
  static ftl::Ssd::Options SsdOf(const Options& options, uint64_t pages) {
    constexpr uint32_t kReserve = 4;  // blocks: three that ../ftl/README.md wants free, and one
    const uint32_t block = std::max(4u, options.pages);
    const auto logical = static_cast<uint32_t>(pages);
    return {.block_mapped = options.ftl == Layer::kBlock,
            .pages_per_block = block,
            .page_size = options.page,
            .settings = {.logical = logical,
                         .blocks = (logical + block - 2) / (block - 1) + kReserve,
                         .hardened = true,
                         .checkpoint = false,
                         .bug = ftl::Bug::kNone,
                         .reads_counted = false}};
  }

  static uint32_t Logical(uint64_t page) { return static_cast<uint32_t>(page); }
  bool Holds(uint64_t page) const { return page < ssd_->logical(); }

  bool Get(uint64_t page, void* out) {
    if (!ssd_) return powercut_block_read(&block_, page * sectors_, sectors_, out) == 0;
    if (!Holds(page)) return false;
    const ftl::Status status = ssd_->Read(Logical(page), out);
    if (status == ftl::Status::kAbsent) std::memset(out, 0, page_size_);
    return status == ftl::Status::kOk || status == ftl::Status::kAbsent;
  }
  const uint8_t* Find(uint64_t page, std::vector<uint8_t>* room) {
    const uint8_t* there = nullptr;
    if (ssd_ && Holds(page) && ssd_->Look(Logical(page), &there) == ftl::Status::kOk) return there;
    room->resize(page_size_);
    return Get(page, room->data()) ? room->data() : nullptr;
  }
  bool Put(uint64_t first, uint64_t count, const void* data, unsigned flags) {
    if (!ssd_) return powercut_block_write(&block_, first * sectors_, count * sectors_, data, flags) == 0;
    const auto* from = static_cast<const uint8_t*>(data);
    for (uint64_t i = 0; i < count; ++i, from += page_size_) {
      if (!Holds(first + i) || ssd_->Write(Logical(first + i), from) != ftl::Status::kOk) return false;
    }
    return true;
  }

  powercut_block block_;
  uint32_t page_size_, sectors_;
  std::optional<ftl::Ssd> ssd_;
  Counts counts_;
  bool reads_counted_ = false;
};

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_DEVICE_H_
