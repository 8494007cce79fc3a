// The pool allocator that the schemes share: crash-consistent without a log.
//
// Layout, from `begin` (a multiple of 64) to the end of the pool:
//   line 0          mark: units that were ever handed out (8 bytes); unit size and unit count (constants)
//   entry table     one 4-byte entry a unit: n > 0 = a block of n units begins here, 0 = it does not
//   units           each `unit` bytes, the first one aligned to `unit`
//
// Protocol. A block is allocated from the moment its entry is durable. The block is *owned* once the caller has
// published its offset in a durable place. Hence:
//   allocate   entry := n, flush, fence; the caller then initialises the block and publishes it.
//              A power cut in between leaves an allocated block that nothing reaches: sweep() at the next
//              open frees it. The other order (publish first) could hand out an owned block twice.
//   free       the caller first unpublishes (durably); then entry := 0, flush, fence. A power cut in
//              between again leaves an unreached block.
// Each step is one aligned 4- or 8-byte store, so no state in between is visible, and sweeping twice is
// sweeping once: recovery may be cut anywhere.
//
// invariant: entries of units inside a block, and of units at or above the mark, are zero. The raised mark is therefore
// durable before an entry below the mark is written. If the raise could be lost while the entry stays, a later and
// longer block might hide the stale entry. A free of the longer block would expose the stale entry again.
//
// The mark keeps sweep() short: sweep() reads one word a block and one word a freed unit, never the whole table.
#ifndef POWERCUT_TARGETS_COMMON_POOL_ALLOCATOR_H_
#define POWERCUT_TARGETS_COMMON_POOL_ALLOCATOR_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "powercut/target.h"

// Defined by the engine alone: whether this allocation is to fail though there is room (powercut faults).
extern "C" int powercut_refuse_allocation(uint64_t bytes) __attribute__((weak));

namespace powercut {

class PoolAllocator {
 public:
  struct Geometry {
    uint64_t begin = 0;   // pool offset of the allocator's first line; what lies before is the scheme's root
    uint64_t unit = 256;  // bytes, a power of two >= 64
  };

  PoolAllocator() = default;
  PoolAllocator(powercut_pool pool, Geometry geometry) : pool_(pool), geometry_(geometry) {
    // Each unit costs its own bytes and one entry; the entries round up to a whole unit.
    const uint64_t table = geometry.begin + pmem::kLine;
    if (pool.size > table + geometry.unit)
      units_ = (pool.size - table - geometry.unit) / (geometry.unit + sizeof(uint32_t));
    first_ = (table + units_ * sizeof(uint32_t) + geometry.unit - 1) & ~(geometry.unit - 1);
  }

  // Precondition: the pool is zeroed. Durable at return.
  void Format() const {
    Header* header = header_of();
    header->unit = geometry_.unit;
    header->units = units_;
    pmem::persist(header, sizeof *header);
  }

  // False when the pool was formatted with another geometry.
  bool Matches() const { return header_of()->unit == geometry_.unit && header_of()->units == units_; }

  // The pool offset of a fresh block of at least `bytes` (contents undefined), or 0 when none fits.
  uint64_t Allocate(uint64_t bytes) {
    const uint64_t need = (bytes + geometry_.unit - 1) / geometry_.unit;
    if (need == 0 || need > units_) return 0;
    if (powercut_refuse_allocation != nullptr && powercut_refuse_allocation(bytes) != 0) return 0;
    const uint64_t mark = header_of()->mark;
    uint64_t run = hint_;  // where the current run of free units began
    uint64_t at = hint_;
    uint64_t first = mark;  // free unit
    while (at < mark && at - run < need) {
      const uint32_t length = entries()[at];
      if (length == 0 && at < first) first = at;
      at += length == 0 ? 1 : length;
      if (length != 0) run = at;
    }
    hint_ = first < run ? first : run;
    if (run + need > units_) return 0;
    if (run + need > mark) {
      pmem::atomic_store(&header_of()->mark, run + need);
      pmem::persist(&header_of()->mark, sizeof(uint64_t));
    }
    SetEntry(run, static_cast<uint32_t>(need));
    if (run == hint_) hint_ = run + need;
    return first_ + run * geometry_.unit;
  }

  // Precondition: `offset` came from Allocate and no durable reference to it is left.
  void Free(uint64_t offset) {
    const uint64_t at = (offset - first_) / geometry_.unit;
    SetEntry(at, 0);
    if (at < hint_) hint_ = at;
  }

  // Frees every block for which reached(offset) is false; part of recovery. False when the table of
  // entries is damaged (a block runs past the mark).
  template <typename Reached>
  bool Sweep(Reached reached) {
    hint_ = kNoHint;
    bool sound = ForEach([&](uint64_t offset, uint64_t) {
      if (!reached(offset)) Free(offset);
    });
    if (hint_ == kNoHint) hint_ = 0;
    return sound;
  }

  // visit(offset, bytes) for every allocated block, in order of offset. False when damaged.
  template <typename Visit>
  bool ForEach(Visit visit) {
    const uint64_t mark = header_of()->mark;
    if (mark > units_) return false;
    for (uint64_t at = 0; at < mark;) {
      const uint64_t length = entries()[at];
      if (length > mark - at) return false;
      if (length == 0) {
        if (hint_ == kNoHint) hint_ = at;
        ++at;
        continue;
      }
      visit(first_ + at * geometry_.unit, length * geometry_.unit);
      at += length;
    }
    if (hint_ == kNoHint) hint_ = mark;
    return true;
  }

  // Bytes of the block that begins at `offset`; 0 where none does.
  uint64_t BytesOf(uint64_t offset) const {
    if (!Contains(offset, geometry_.unit) || (offset - first_) % geometry_.unit != 0) return 0;
    const uint64_t at = (offset - first_) / geometry_.unit, length = entries()[at];
    return length > units_ - at ? 0 : length * geometry_.unit;
  }

  // Pool offset of the first unit.
  uint64_t first() const { return first_; }

  // Is [offset, offset + bytes) inside the area that blocks come from?
  bool Contains(uint64_t offset, uint64_t bytes) const {
    return offset >= first_ && bytes <= units_ * geometry_.unit && offset - first_ <= units_ * geometry_.unit - bytes;
  }

 private:
  struct Header {
    uint64_t mark, unit, units;
  };
  static constexpr uint64_t kNoHint = ~uint64_t{0};

  Header* header_of() const { return reinterpret_cast<Header*>(pool_.base + geometry_.begin); }
  uint32_t* entries() const { return reinterpret_cast<uint32_t*>(pool_.base + geometry_.begin + pmem::kLine); }

  void SetEntry(uint64_t at, uint32_t length) {
    pmem::atomic_store(&entries()[at], length);
    pmem::persist(&entries()[at], sizeof(uint32_t));
  }

  powercut_pool pool_{};
  Geometry geometry_;
  uint64_t units_ = 0;
  uint64_t first_ = 0;  // pool offset of unit 0
  uint64_t hint_ = 0;   // volatile: no unit below it is free
};

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_POOL_ALLOCATOR_H_
