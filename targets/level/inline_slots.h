// Slots that hold items, in two layouts:
//   16x15  two slots of 31 bytes in each 64-byte line (paper, 4.1); the header is the last byte (16 slots:
//          the last two) of the bucket's first line, so that keys start on 8-byte boundaries
//   8x8    8 bytes of header, then slots of 16 bytes, packed: a slot may straddle two lines
#ifndef POWERCUT_TARGETS_LEVEL_INLINE_SLOTS_H_
#define POWERCUT_TARGETS_LEVEL_INLINE_SLOTS_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"
#include "targets/common/bytes.h"
#include "targets/common/part_names.h"
#include "targets/level/hash.h"
#include "targets/level/options.h"
#include "targets/level/tokens.h"

namespace powercut::level {

inline constexpr uint64_t kMagic = 0x314c4556454c4350;  // "PCLEVEL1"

using Item = SlotItem;

struct Geometry : Tokens {
  static constexpr uint64_t kUnit = 256;  // bytes: the allocator's unit
  static constexpr bool kAtomicSlots = false;

  explicit Geometry(const Options& options, uint8_t* /*pool*/ = nullptr)
      : Tokens{.slots = options.slots,
               .header_size = options.slots > 8 ? 2u : 1u,
               .header_at = options.wide == 0 ? 0 : static_cast<uint32_t>(pmem::kLine) - (options.slots > 8 ? 2 : 1)},
        wide(options.wide != 0),
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
  // Constant sizes, so that each copy is one memory intrinsic.
  void Copy(uint8_t* to, const uint8_t* from) const {
    if (wide) {
      std::memcpy(to, from, 31);
    } else {
      std::memcpy(to, from, 16);
    }
  }
  // The second word is read only where the first one agrees: keys that differ cost one load.
  bool KeyEquals(const uint8_t* slot, const Item& item) const {
    return Word64(slot) == Word64(item.bytes) && (!wide || Word64(slot + 8) == Word64(item.bytes + 8));
  }
  Probe ProbeOf(const Item& item) const { return HashKey(item.bytes, wide); }
  Probe ProbeAt(const uint8_t* slot) const { return HashKey(slot, wide); }
  void Load(const uint8_t* slot, Item* item) const { Copy(item->bytes, slot); }
  Bytes KeyAt(const uint8_t* slot) const { return {slot, key_size}; }
  Bytes ValueAt(const uint8_t* slot) const { return {slot + key_size, value_size}; }

  bool wide;
  uint32_t pitch;   // 16x15: distance of the two slots of a line
  uint32_t stride;  // bytes of a bucket
  uint32_t key_size, value_size, item_size;
  bool halves;
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_INLINE_SLOTS_H_
