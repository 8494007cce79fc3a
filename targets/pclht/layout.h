// The persistent structures of P-CLHT, in the order of clht_lb_res.h: the root (clht_t), a hash table object
// (clht_hashtable_t), and buckets of one line. Offsets are from the start of the pool; 0 is none.
#ifndef POWERCUT_TARGETS_PCLHT_LAYOUT_H_
#define POWERCUT_TARGETS_PCLHT_LAYOUT_H_

#include <cstdint>

#include "powercut/pmem.h"

namespace powercut::pclht {

inline constexpr uint64_t kMagic = 0x31544c4850434c48;
inline constexpr uint32_t kEntries = 3;

// Values of a bucket's lock. The lock matters to threads only, but it lies in the pool and may survive a cut.
inline constexpr uint8_t kLockFree = 0;
inline constexpr uint8_t kLockUpdate = 1;
inline constexpr uint8_t kLockResize = 2;  // the bucket was copied; who meets it waits for the new table

// invariant: an entry holds an item if and only if its key is not 0; the key is the commit word.
struct alignas(pmem::kLine) Bucket {
  union {
    uint8_t lock;
    // The lock in its low byte, and above it how many items were erased from the chain. Only `hardened` with threads
    // counts them. The count matters only to readers of one run, whatever its first value.
    uint64_t state;
  };
  uint64_t key[kEntries];
  uint64_t value[kEntries];
  uint64_t next;  // offset of the next bucket of the chain
};
static_assert(sizeof(Bucket) == pmem::kLine);
inline constexpr uint64_t kOneErasure = 0x100;
inline constexpr uint64_t kLockMask = kOneErasure - 1;

struct alignas(pmem::kLine) HashTable {
  // Line 0 never changes after the table was published.
  uint64_t buckets;  // a power of two
  uint64_t table;    // offset of the first bucket
  uint64_t mask;
  uint64_t version;
  // Line 1 is never flushed after the publication: its contents need not survive a cut.
  alignas(pmem::kLine) uint64_t previous;
  uint64_t next_version;  // the table that replaced this one; lets the collector walk from old to new
  uint64_t expansions;    // chained buckets
  uint64_t expansions_limit;
};
static_assert(sizeof(HashTable) == 2 * pmem::kLine);

struct Root {
  alignas(pmem::kLine) uint64_t table;  // offset of the current HashTable: one store replaces the whole table
  uint64_t magic;
  // Never flushed after format.
  alignas(pmem::kLine) uint64_t oldest;  // the oldest table that was not freed yet
  uint64_t version_min;                  // its version
  uint8_t resize_lock, gc_lock, status_lock;
  // The item whose key is 0, which no bucket can hold.
  alignas(pmem::kLine) uint64_t zero_present;
  uint64_t zero_value;
};
static_assert(sizeof(Root) == 3 * pmem::kLine);

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_LAYOUT_H_
