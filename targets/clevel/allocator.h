// Allocates *into* a persistent word, as the atomic allocators of PMDK do (3.3 builds its persistent buffers on them):
// a block and the word that owns it come into being together, so that recovery needs to look at the owners only,
// never at all slots. The shared PoolAllocator returns an offset after the fact; whoever is cut before he has written
// it down must scan everything that may own a block.
//
// Layout, from `begin` (a multiple of 64) to the end of the pool:
//   line 0          mark: units that were ever handed out; the number of units
//   entry table     one 4-byte entry a unit: n > 0 = a block of n units begins here, 0 = it does not
//   units           64 bytes each
//
// Protocol. A block is allocated while its entry is not 0. AllocateInto: mark and owner word, durable; then the entry.
// A cut in between leaves an owner of a block that is not allocated, which recovery tells by its entry. Free: entry :=
// 0; the caller sees to it that some word names the block before it becomes unreachable, and until it is free. Each
// step is one aligned store.
//
// invariant: entries inside a block, and at or above the mark, are 0.
#ifndef POWERCUT_TARGETS_CLEVEL_ALLOCATOR_H_
#define POWERCUT_TARGETS_CLEVEL_ALLOCATOR_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "powercut/target.h"

// Defined by the engine alone: whether this allocation is to fail though there is room (powercut faults).
extern "C" int powercut_refuse_allocation(uint64_t bytes) __attribute__((weak));

namespace powercut::clevel {

class Allocator {
 public:
  static constexpr uint64_t kUnit = pmem::kLine;

  Allocator(powercut_pool pool, uint64_t begin) : pool_(pool), begin_(begin) {
    const uint64_t table = begin + pmem::kLine;
    if (pool.size > table + kUnit) units_ = (pool.size - table - kUnit) / (kUnit + sizeof(uint32_t));
    first_ = (table + units_ * sizeof(uint32_t) + kUnit - 1) & ~(kUnit - 1);
  }

  // Precondition: the pool is zeroed. Durable at return.
  void Format() const {
    pmem::atomic_store(&header()->units, units_);
    pmem::persist(header(), sizeof *header());
  }

  // False when the pool was formatted with another size.
  bool Matches() const { return header()->units == units_; }

  // The offset of a fresh block (contents undefined), which is also in *owner, durably; 0 and no change when none fits.
  uint64_t AllocateInto(uint64_t* owner, uint64_t bytes) {
    const uint64_t need = (bytes + kUnit - 1) / kUnit;
    if (need > units_) return 0;
    if (powercut_refuse_allocation != nullptr && powercut_refuse_allocation(bytes) != 0) return 0;
    const uint64_t mark = header()->mark;
    uint64_t run = hint_, at = hint_;
    uint64_t lowest = units_;  // the first free unit of all
    while (at < mark && at - run < need) {
      const uint32_t length = entries()[at];
      if (length == 0 && at < lowest) lowest = at;
      at += length == 0 ? 1 : length;
      if (length != 0) run = at;
    }
    if (run + need > units_) return 0;
    if (run + need > mark) {
      pmem::atomic_store(&header()->mark, run + need);
      pmem::flush(&header()->mark, sizeof(uint64_t));
    }
    const uint64_t offset = first_ + run * kUnit;
    pmem::atomic_store(owner, offset);
    pmem::persist(owner, sizeof *owner);
    SetEntry(run, static_cast<uint32_t>(need));
    hint_ = lowest < run ? lowest : run + need;
    return offset;
  }

  // Precondition: the block is allocated, and only words that recovery looks at name it.
  void Free(uint64_t offset) {
    const uint64_t at = (offset - first_) / kUnit;
    SetEntry(at, 0);
    if (at < hint_) hint_ = at;
  }

  // Bytes of the block that begins at `offset`; 0 when none does.
  uint64_t BytesOf(uint64_t offset) const {
    if (offset < first_ || (offset - first_) % kUnit != 0 || (offset - first_) / kUnit >= units_) return 0;
    const uint64_t at = (offset - first_) / kUnit, length = entries()[at];
    return length > units_ - at ? 0 : length * kUnit;
  }

  // visit(offset, bytes) for every allocated block, in order of offset. False when the table is damaged.
  template <typename Visit>
  bool ForEach(Visit visit) const {
    const uint64_t mark = header()->mark;
    if (mark > units_) return false;
    for (uint64_t at = 0; at < mark;) {
      const uint64_t length = entries()[at];
      if (length > mark - at) return false;
      if (length != 0) visit(first_ + at * kUnit, length * kUnit);
      at += length == 0 ? 1 : length;
    }
    return true;
  }

 private:
  struct Header {
    uint64_t mark, units;
  };

  Header* header() const { return reinterpret_cast<Header*>(pool_.base + begin_); }
  uint32_t* entries() const { return reinterpret_cast<uint32_t*>(pool_.base + begin_ + pmem::kLine); }

  void SetEntry(uint64_t at, uint32_t length) {
    pmem::atomic_store(&entries()[at], length);
    pmem::persist(&entries()[at], sizeof(uint32_t));
  }

  powercut_pool pool_;
  uint64_t begin_;
  uint64_t units_ = 0;
  uint64_t first_ = 0;  // pool offset of unit 0
  uint64_t hint_ = 0;   // volatile: no unit below it is free
};

}  // namespace powercut::clevel
#endif  // POWERCUT_TARGETS_CLEVEL_ALLOCATOR_H_
