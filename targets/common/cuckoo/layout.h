// The layout of the pool.
//
//   0      root: 4 lines (Root below)
//   256    PoolAllocator: its line, its table, its units; each slot array is one block of it
//
// A slot array holds the buckets of one table, or of two tables one after the other. The stash follows the buckets: a
// bucket that no hash addresses. A bucket is a header of tokens, one bit a slot, and its slots:
//   lines    16-byte keys: slots of 31 bytes, two in each 64-byte line; the header is the last byte (16 slots: the
//            last two) of the bucket's first line. A bucket of one slot takes half a line.
//   packed   8-byte keys, and every bucket with tags: 8 bytes of header, then slots of 16 (32) bytes; a slot may
//            straddle two lines. With tags the header is one word: tokens in byte 0, the tag of slot s in byte 1 + s.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_LAYOUT_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_LAYOUT_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"
#include "targets/common/cuckoo/options.h"
#include "targets/common/part_names.h"

namespace powercut::cuckoo {

inline constexpr uint64_t kMagic = 0x314f4f4b43554350;  // "PCUCKOO1"
inline constexpr int kDescriptors = 8;                  // places of slot arrays that the root can name
inline constexpr int kMostArrays = 6;                   // attached at a time
inline constexpr uint64_t kUnit = 256;  // bytes; a descriptor keeps log2 of the size in the low byte of the offset

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;  // Geometry::Word(); constant
  uint64_t state;     // State, published by one 8-byte store
  uint64_t unused0[5];
  // Line 1. Offset of an array's block | log2 of the buckets of each table. An entry that `state` does not name means
  // nothing, and is written only while it means nothing.
  uint64_t arrays[kDescriptors];
  // Line 2. The undo log is valid while this is non-zero: pool offset of the slot under update.
  uint64_t log_slot;
  uint64_t unused1[7];
  // Line 3. The item that was in the slot.
  uint8_t log_item[64];
};
static_assert(sizeof(Root) == 4 * pmem::kLine);

// Which slot arrays the table consists of: indices into Root::arrays. All but the first are being
// emptied: a rehash that was cut is exactly a state that names more than one.
using State = PartNames<kMostArrays>;

using Item = SlotItem;

// How the bytes of a bucket are laid out.
struct Shape {
  Shape(bool wide, bool tags, uint32_t slot_count)
      : slots(slot_count),
        lines(wide && !tags),
        header_size(tags                      ? 8
                    : slot_count > 8 || !wide ? 2
                                              : 1),
        pitch(!wide              ? 16
              : header_size == 2 ? 31
                                 : 32),
        stride(!lines            ? 8 + pitch * slot_count
               : slot_count == 1 ? 32
                                 : (slot_count + 1) / 2 * 64),
        header_at(!lines ? 0 : (slot_count == 1 ? 32 : 64) - header_size) {}

  uint8_t* Slot(uint8_t* bucket, uint32_t slot) const {
    return lines ? bucket + (slot >> 1) * pmem::kLine + (slot & 1) * pitch : bucket + 8 + slot * pitch;
  }
  uint32_t full() const { return (1u << slots) - 1; }

  // The header as a number: tokens, and above them the tags.
  uint64_t LoadHeader(const uint8_t* bucket) const {
    const uint8_t* at = bucket + header_at;
    if (header_size == 1) return pmem::atomic_load(at);
    if (header_size == 2) return pmem::atomic_load(reinterpret_cast<const uint16_t*>(at));
    return pmem::atomic_load(reinterpret_cast<const uint64_t*>(at));
  }
  void StoreHeader(uint8_t* bucket, uint64_t header) const {
    uint8_t* at = bucket + header_at;
    if (header_size == 1) {
      pmem::atomic_store(at, static_cast<uint8_t>(header));
    } else if (header_size == 2) {
      pmem::atomic_store(reinterpret_cast<uint16_t*>(at), static_cast<uint16_t>(header));
    } else {
      pmem::atomic_store(reinterpret_cast<uint64_t*>(at), header);
    }
  }
  // Tokens of slots that do not exist are left in: Verify reports them.
  uint32_t LoadTokens(const uint8_t* bucket) const {
    const uint64_t header = LoadHeader(bucket);
    return static_cast<uint32_t>(header_size == 8 ? header & 0xff : header);
  }
  static uint8_t TagIn(uint64_t header, uint32_t slot) { return static_cast<uint8_t>(header >> (8 * (slot + 1))); }
  static uint64_t WithTag(uint64_t header, uint32_t slot, uint8_t tag) {
    const uint32_t shift = 8 * (slot + 1);
    return (header & ~(uint64_t{0xff} << shift)) | uint64_t{tag} << shift;
  }

  uint32_t slots;
  bool lines;
  uint32_t header_size;
  uint32_t pitch;   // distance of two slots
  uint32_t stride;  // bytes of a bucket
  uint32_t header_at;
};

struct Geometry {
  explicit Geometry(const Options& options)
      : wide(options.wide),
        tables(options.tables),
        key_size(options.key_size),
        value_size(options.value_size),
        item_size(wide ? 31 : 16),
        bucket(options.wide, options.tags, options.slots),
        stash(options.wide, options.tags, options.stash) {}

  uint64_t Word() const {
    return uint64_t{bucket.slots} | uint64_t{key_size} << 8 | uint64_t{value_size} << 16 | uint64_t{wide} << 24 |
           uint64_t{tables} << 32 | uint64_t{stash.slots} << 40;
  }
  bool has_stash() const { return stash.slots != 0; }
  uint64_t Buckets(uint8_t log2) const { return uint64_t{tables} << log2; }
  uint64_t Bytes(uint8_t log2) const { return Buckets(log2) * bucket.stride + (has_stash() ? stash.stride : 0); }

  // Constant sizes, so that each copy is one memory intrinsic.
  void Copy(uint8_t* to, const uint8_t* from) const {
    if (wide) {
      std::memcpy(to, from, 31);
    } else {
      std::memcpy(to, from, 16);
    }
  }
  // The second word is read only where the first one agrees: keys that differ cost one load.
  bool KeyEquals(const uint8_t* slot, const uint8_t* key) const {
    return Word64(slot) == Word64(key) && (!wide || Word64(slot + 8) == Word64(key + 8));
  }
  static uint64_t Word64(const uint8_t* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  bool wide;
  uint32_t tables, key_size, value_size, item_size;
  Shape bucket, stash;
};

// The handle's view of one slot array.
struct SlotArray {
  uint8_t* base = nullptr;
  uint64_t mask = 0;  // buckets of each table - 1
  uint8_t log2 = 0;
  uint8_t descriptor = State::kNone;
  bool published = true;  // false: nothing durable refers to it yet, so its stores need no order
};

}  // namespace powercut::cuckoo
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_LAYOUT_H_
