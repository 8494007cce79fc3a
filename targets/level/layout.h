// Where things lie in the pool.
//
//   0      root: 4 lines (Root below)
//   256    PoolAllocator: its line, its table, its units; each level is one block of it
//
// A level is an array of buckets (the paper's Fig. 1b), a bucket is a header of tokens and its slots (Fig. 5):
//   16x15  two slots of 31 bytes in each 64-byte line (paper, 4.1); the header is the last byte (16 slots:
//          the last two) of the bucket's first line, so that keys start on 8-byte boundaries
//   8x8    8 bytes of header, then slots of 16 bytes, packed: a slot may straddle two lines
#ifndef POWERCUT_TARGETS_LEVEL_LAYOUT_H_
#define POWERCUT_TARGETS_LEVEL_LAYOUT_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"
#include "targets/common/part_names.h"
#include "targets/level/options.h"

namespace powercut::level {

inline constexpr uint64_t kMagic = 0x314c4556454c4350;  // "PCLEVEL1"
inline constexpr int kDescriptors = 8;                  // places of levels that the root can name
inline constexpr int kMaxInterims = 5;                  // two levels and five interims leave one place free
inline constexpr int kMaxLevels = 2 + kMaxInterims;
inline constexpr uint64_t kUnit = 256;  // bytes; a descriptor keeps log2 of the size in the low byte of the offset

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;  // Geometry::Word(); constant
  uint64_t state;     // State, published by one 8-byte store
  uint64_t unused0[5];
  // Line 1. Offset of a level's block | log2 of its number of buckets. An entry that `state` does not name means
  // nothing, and is written only while it means nothing.
  uint64_t levels[kDescriptors];
  // Line 2. The undo log is valid while this is non-zero: pool offset of the slot under update.
  uint64_t log_slot;
  uint64_t unused1[7];
  // Line 3. The item that was in the slot.
  uint8_t log_item[64];
};
static_assert(sizeof(Root) == 4 * pmem::kLine);

// Which levels the table consists of: indices into Root::levels; top, bottom, interims in order. Interim levels are on
// their way out: an unfinished resize is exactly a state that names one.
using State = PartNames<kMaxLevels>;

using Item = SlotItem;

struct Geometry {
  explicit Geometry(const Options& options)
      : wide(options.wide != 0),
        slots(options.slots),
        header_size(options.slots > 8 ? 2 : 1),
        header_at(wide ? static_cast<uint32_t>(pmem::kLine) - header_size : 0),
        pitch(wide ? (header_size == 2 ? 31 : 32) : 16),
        stride(wide ? slots / 2 * static_cast<uint32_t>(pmem::kLine) : 8 + 16 * slots),
        key_size(options.key_size),
        value_size(options.value_size),
        item_size(wide ? 31 : 16),
        halves(options.halves) {}

  uint64_t Word() const {
    return uint64_t{slots} | uint64_t{key_size} << 8 | uint64_t{value_size} << 16 | uint64_t{wide} << 24 |
           uint64_t{halves} << 32;
  }

  uint8_t* Slot(uint8_t* bucket, uint32_t slot) const {
    return wide ? bucket + (slot >> 1) * pmem::kLine + (slot & 1) * pitch : bucket + 8 + 16 * slot;
  }
  uint32_t full() const { return (1u << slots) - 1; }

  uint32_t LoadTokens(const uint8_t* bucket) const {
    const uint8_t* at = bucket + header_at;
    return header_size == 1 ? pmem::atomic_load(at) : pmem::atomic_load(reinterpret_cast<const uint16_t*>(at));
  }
  void StoreTokens(uint8_t* bucket, uint32_t tokens) const {
    uint8_t* at = bucket + header_at;
    if (header_size == 1) {
      pmem::atomic_store(at, static_cast<uint8_t>(tokens));
    } else {
      pmem::atomic_store(reinterpret_cast<uint16_t*>(at), static_cast<uint16_t>(tokens));
    }
  }

  // Sets tokens beside other threads, which change other tokens of the bucket: one atomic read-modify-write.
  void AddTokens(uint8_t* bucket, uint32_t tokens) const {
    ChangeTokens(bucket, [tokens](auto* at) { __atomic_fetch_or(at, Narrow(at, tokens), __ATOMIC_ACQ_REL); });
  }
  void RemoveTokens(uint8_t* bucket, uint32_t tokens) const {
    ChangeTokens(bucket, [tokens](auto* at) { __atomic_fetch_and(at, Narrow(at, ~tokens), __ATOMIC_ACQ_REL); });
  }
  void FlipTokens(uint8_t* bucket, uint32_t tokens) const {
    ChangeTokens(bucket, [tokens](auto* at) { __atomic_fetch_xor(at, Narrow(at, tokens), __ATOMIC_ACQ_REL); });
  }

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
  uint32_t slots, header_size, header_at;
  uint32_t pitch;   // 16x15: distance of the two slots of a line
  uint32_t stride;  // bytes of a bucket
  uint32_t key_size, value_size, item_size;
  bool halves;

 private:
  template <typename Header>
  static Header Narrow(const Header*, uint32_t tokens) {
    return static_cast<Header>(tokens);
  }
  template <typename Change>
  void ChangeTokens(uint8_t* bucket, Change change) const {
    uint8_t* at = bucket + header_at;
    if (header_size == 1) {
      change(at);
    } else {
      change(reinterpret_cast<uint16_t*>(at));
    }
  }
};

// One level as the handle sees it.
struct Level {
  uint8_t* base = nullptr;
  uint64_t mask = 0;   // buckets - 1
  uint64_t items = 0;  // when the counts were settled last; kept for dynamic search only
  int64_t drift = 0;   // change since
  uint8_t log2 = 0;
  uint8_t descriptor = State::kNone;

  uint64_t buckets() const { return mask + 1; }
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_LAYOUT_H_
