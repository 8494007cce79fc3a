// The persistent structures of P-CLHT, in the order of clht_lb_res.h: the root (clht_t), a hash table object
// (clht_hashtable_t), and buckets of one line; with items=inline a bucket has a second line. Offsets are from the start
// of the pool; 0 is none.
#ifndef POWERCUT_TARGETS_PCLHT_LAYOUT_H_
#define POWERCUT_TARGETS_PCLHT_LAYOUT_H_

#include <cstddef>
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
    // The lock in its low byte, and above it how often an entry of the chain lost its item or its value's place. Only
    // `hardened` with threads counts this. The count matters only to readers of one run, whatever its first value.
    uint64_t state;
  };
  uint64_t key[kEntries];  // items=pointer: the offset of the item's block
  uint64_t value[kEntries];
  uint64_t next;  // offset of the next bucket of the chain
};
static_assert(sizeof(Bucket) == pmem::kLine);

// The bucket of items=inline: the keys have the line of the lock, and the values have a line of rooms.
//
// A key of 15 bytes leaves one byte of its two words. `hardened` has a flag there: 0, or 1 + the number of the room
// that holds the entry's value. The second word is then the commit word. `published` has no flag, and entry i has room
// i. invariant of `hardened`: no two entries of a bucket name one room, so that one room is always free.
inline constexpr uint32_t kRooms = kEntries + 1;
inline constexpr uint32_t kMostInline = 15;  // bytes of a key and of a value
inline constexpr int kFlagShift = 56;
inline constexpr uint64_t kKeyMask = (uint64_t{1} << kFlagShift) - 1;
struct alignas(pmem::kLine) WideBucket {
  uint64_t state;
  uint64_t key[kEntries][2];
  uint64_t next;
  uint64_t room[kRooms][2];
};
static_assert(sizeof(WideBucket) == 2 * pmem::kLine);
static_assert(offsetof(WideBucket, state) == offsetof(Bucket, state));
static_assert(offsetof(WideBucket, next) == offsetof(Bucket, next));

inline constexpr uint64_t kOneChange = 0x100;
inline constexpr uint64_t kLockMask = kOneChange - 1;

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
  // The item whose key is 0, where no bucket can hold it.
  alignas(pmem::kLine) uint64_t zero_present;
  uint64_t zero_value[2];  // the second word with items=inline
};
static_assert(sizeof(Root) == 3 * pmem::kLine);

}  // namespace powercut::pclht
#endif  // POWERCUT_TARGETS_PCLHT_LAYOUT_H_
