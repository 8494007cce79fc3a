// Allocates *into* a persistent word, as the atomic allocators of PMDK do (3.3 builds its persistent buffers on them).
// A block and its owner word come into being together, so that recovery looks at the owners only, never at all slots.
// The shared PoolAllocator returns an offset after the fact; whoever is cut before he has written it down must scan
// everything that may own a block.
//
// Layout, from `begin` (a multiple of 64) to the end of the pool:
//   a line an arena   mark: units of the arena that were ever handed out; the number of units
//   entry table       one 4-byte entry a unit: n > 0 = a block of n units begins here, 0 = it does not
//   units             64 bytes each
//
// Where many threads allocate, each has an arena of its own, as in PMDK: a run of units, with their entries on lines
// of their own. Only the owning thread allocates in an arena; any thread may free a block of any arena.
//
// Protocol. A block is allocated while its entry is not 0. AllocateInto: mark and owner word, durable; then the entry.
// A cut in between leaves an owner of a block that is not allocated; recovery tells this state by the block's entry.
// Free: entry := 0. The caller ensures that some word names the block before the block becomes unreachable, and until
// the block is free. Each step is one aligned store.
//
// invariant: entries inside a block, and at or above the mark, are 0.
#ifndef POWERCUT_TARGETS_CLEVEL_ALLOCATOR_H_
#define POWERCUT_TARGETS_CLEVEL_ALLOCATOR_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "powercut/target.h"
#include "targets/clevel/layout.h"

// Defined by the engine alone: whether this allocation is to fail though there is room (powercut faults).
extern "C" int powercut_refuse_allocation(uint64_t bytes) __attribute__((weak));

namespace powercut::clevel {

class Allocator {
 public:
  static constexpr uint64_t kUnit = pmem::kLine;

  static constexpr uint32_t kMostArenas = kAllThreads;

  Allocator(powercut_pool pool, uint64_t begin, uint32_t arenas) : pool_(pool), begin_(begin), arenas_(arenas) {
    const uint64_t table = begin + arenas * pmem::kLine;
    if (pool.size > table + kUnit) units_ = (pool.size - table - kUnit) / (kUnit + sizeof(uint32_t));
    if (arenas > 1) units_ = (units_ / arenas) & ~kEntriesOfLine;
    first_ = (table + arenas * units_ * sizeof(uint32_t) + kUnit - 1) & ~(kUnit - 1);
  }

  // Precondition: the pool is zeroed. Durable at return.
  void Format() const {
    pmem::atomic_store(&header(0)->units, units_);
    pmem::persist(header(0), sizeof *header(0));
  }

  // False when the pool was formatted with another size.
  bool Matches() const { return header(0)->units == units_; }

  // The offset of a fresh block (contents undefined), which is also in *owner, durably; 0 and no change when none fits.
  // With arenas the entry is durable after the caller's next fence, which comes before he lets others see the block.
  uint64_t AllocateInto(uint64_t* owner, uint64_t bytes, uint32_t arena = 0) {
    const uint64_t need = (bytes + kUnit - 1) / kUnit;
    if (need > units_) return 0;
    if (powercut_refuse_allocation != nullptr && powercut_refuse_allocation(bytes) != 0) return 0;
    const uint64_t mark = header(arena)->mark;
    uint64_t run = 0, lowest = 0;
    // Others may have freed what lies below the hint.
    if (!FindRun(arena, need, mark, &run, &lowest)) {
      if (arenas_ == 1 || hint_[arena] == 0) return 0;
      hint_[arena] = 0;
      if (!FindRun(arena, need, mark, &run, &lowest)) return 0;
    }
    if (run + need > mark) {
      pmem::atomic_store(&header(arena)->mark, run + need);
      pmem::flush(&header(arena)->mark, sizeof(uint64_t));
    }
    // An entry that another thread has cleared must not come back inside the block.
    if (arenas_ > 1 && need > 1) pmem::flush(&entries(arena)[run], need * sizeof(uint32_t));
    const uint64_t at = arena * units_ + run;
    const uint64_t offset = first_ + at * kUnit;
    pmem::atomic_store(owner, offset);
    pmem::persist(owner, sizeof *owner);
    pmem::atomic_store(&entries(0)[at], static_cast<uint32_t>(need));
    pmem::flush(&entries(0)[at], sizeof(uint32_t));
    if (arenas_ == 1) pmem::fence();
    hint_[arena] = lowest < run ? lowest : run + need;
    return offset;
  }

  // Precondition: the block is allocated, and only words that recovery looks at name it.
  void Free(uint64_t offset, uint32_t arena = 0) {
    const uint64_t at = (offset - first_) / kUnit;
    SetEntry(at, 0);
    if (at / units_ == arena && at % units_ < hint_[arena]) hint_[arena] = at % units_;
  }

  // Frees a block beside other threads. Returns false if the block was free already.
  bool FreeOnce(uint64_t offset, uint32_t arena) {
    const uint64_t at = (offset - first_) / kUnit;
    const bool was_allocated = __atomic_exchange_n(&entries(0)[at], uint32_t{0}, __ATOMIC_ACQ_REL) != 0;
    pmem::persist(&entries(0)[at], sizeof(uint32_t));
    if (at / units_ == arena && at % units_ < hint_[arena]) hint_[arena] = at % units_;
    return was_allocated;
  }

  // Bytes of the block that begins at `offset`; 0 when none does.
  uint64_t BytesOf(uint64_t offset) const {
    if (offset < first_ || (offset - first_) % kUnit != 0 || (offset - first_) / kUnit >= arenas_ * units_) return 0;
    const uint64_t at = (offset - first_) / kUnit, length = pmem::atomic_load(&entries(0)[at]);
    return length > units_ - at % units_ ? 0 : length * kUnit;
  }

  // visit(offset, bytes) for every allocated block, in order of offset. False when the table is damaged.
  template <typename Visit>
  bool ForEach(Visit visit) const {
    for (uint32_t arena = 0; arena < arenas_; ++arena) {
      const uint64_t mark = header(arena)->mark;
      if (mark > units_) return false;
      for (uint64_t at = 0; at < mark;) {
        const uint64_t length = entries(arena)[at];
        if (length > mark - at) return false;
        if (length != 0) visit(first_ + (arena * units_ + at) * kUnit, length * kUnit);
        at += length == 0 ? 1 : length;
      }
    }
    return true;
  }

 private:
  struct Header {
    uint64_t mark, units;
  };
  static constexpr uint64_t kEntriesOfLine = pmem::kLine / sizeof(uint32_t) - 1;  // mask

  Header* header(uint32_t arena) const { return reinterpret_cast<Header*>(pool_.base + begin_ + arena * pmem::kLine); }
  // The entries of an arena, followed by the entries of the arenas above it.
  uint32_t* entries(uint32_t arena) const {
    return reinterpret_cast<uint32_t*>(pool_.base + begin_ + arenas_ * pmem::kLine) + arena * units_;
  }

  // A run of free units, from the hint on, and the first free unit of all.
  bool FindRun(uint32_t arena, uint64_t need, uint64_t mark, uint64_t* run, uint64_t* lowest) const {
    uint64_t at = hint_[arena];
    *run = at;
    *lowest = units_;
    while (at < mark && at - *run < need) {
      const uint32_t length = pmem::atomic_load(&entries(arena)[at]);
      if (length == 0 && at < *lowest) *lowest = at;
      at += length == 0 ? 1 : length;
      if (length != 0) *run = at;
    }
    return *run + need <= units_;
  }

  void SetEntry(uint64_t at, uint32_t length) {
    pmem::atomic_store(&entries(0)[at], length);
    pmem::persist(&entries(0)[at], sizeof(uint32_t));
  }

  powercut_pool pool_;
  uint64_t begin_;
  uint32_t arenas_;
  uint64_t units_ = 0;               // of an arena
  uint64_t first_ = 0;               // pool offset of unit 0
  uint64_t hint_[kMostArenas] = {};  // volatile: its thread has left no free unit below it
};

}  // namespace powercut::clevel
#endif  // POWERCUT_TARGETS_CLEVEL_ALLOCATOR_H_
