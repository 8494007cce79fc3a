// Slots of 8 bytes behind 8 bytes of header; in the port of clevel's authors, before 4 tokens of a byte each. A slot
// holds "a short summary of the key and a pointer" to the item "stored outside the hash table" (section 5, after
// MemC3). A slot is one word, the summary in its 16 upper bits and the item's pool offset below them. A slot is
// therefore written by one atomic store.
#ifndef POWERCUT_TARGETS_LEVEL_POINTER_SLOTS_H_
#define POWERCUT_TARGETS_LEVEL_POINTER_SLOTS_H_

#include <cstdint>
#include <cstring>

#include "powercut/pmem.h"
#include "targets/common/bytes.h"
#include "targets/common/hash.h"
#include "targets/level/hash.h"
#include "targets/level/options.h"
#include "targets/level/tokens.h"

namespace powercut::level {

inline constexpr uint64_t kMagic = 0x3152544c564c4350;  // "PCLVLTR1"

// An item as an operation carries it: the word of its slot, and the key that is searched for.
struct Item {
  alignas(8) uint8_t bytes[sizeof(uint64_t)] = {};
  Bytes key;
  Probe probe;
};

struct Geometry : Tokens {
  static constexpr uint64_t kUnit = pmem::kLine;
  static constexpr bool kAtomicSlots = true;
  static constexpr uint32_t kOffsetBits = 48;

  Geometry(const Options& options, uint8_t* pool_base)
      : Tokens{.slots = options.slots,
               .header_size = options.port        ? 4u
                              : options.slots > 8 ? 2u
                                                  : 1u,
               .header_at = options.port ? 8 * options.slots : 0u},
        stride(8 + 8 * options.slots),
        key_size(options.key_size),
        value_size(options.value_size),
        halves(options.halves),
        port(options.port),
        base(pool_base) {}

  uint64_t Word() const {
    return uint64_t{slots} | uint64_t{key_size} << 8 | uint64_t{halves} << 24 | uint64_t{port} << 25 |
           uint64_t{value_size} << 32;
  }

  uint8_t* Slot(uint8_t* bucket, uint32_t slot) const { return bucket + (port ? 0 : 8) + 8 * slot; }
  void Copy(uint8_t* to, const uint8_t* from) const { pmem::atomic_store(WordAt(to), pmem::atomic_load(WordAt(from))); }

  static Probe ProbeOf(Bytes key) {
    return {{powercut::HashKey(key.data, key.size, 0), powercut::HashKey(key.data, key.size, 1)}};
  }
  Probe ProbeOf(const Item& item) const { return item.probe; }
  Probe ProbeAt(const uint8_t* slot) const { return ProbeOf(KeyAt(slot)); }
  // The item in memory is read only where the summaries agree. The port has none.
  bool KeyEquals(const uint8_t* slot, const Item& item) const {
    return pmem::atomic_load(WordAt(slot)) >> kOffsetBits == SummaryOf(item.probe) && KeyAt(slot) == item.key;
  }
  void Load(const uint8_t* slot, Item* item) const {
    Copy(item->bytes, slot);
    item->key = KeyAt(slot);
    item->probe = ProbeOf(item->key);
  }

  uint64_t SummaryOf(const Probe& probe) const { return port ? 0 : probe.hash[1] >> kOffsetBits; }
  uint64_t WordOf(const Probe& probe, uint64_t offset) const { return SummaryOf(probe) << kOffsetBits | offset; }
  static uint64_t OffsetAt(const uint8_t* slot) {
    return pmem::atomic_load(WordAt(slot)) & ((uint64_t{1} << kOffsetBits) - 1);
  }
  ItemHeader* ItemAt(uint64_t offset) const { return reinterpret_cast<ItemHeader*>(base + offset); }
  Bytes KeyOf(uint64_t offset) const { return ItemAt(offset)->key(); }
  Bytes ValueOf(uint64_t offset) const { return ItemAt(offset)->value(); }
  Bytes KeyAt(const uint8_t* slot) const { return KeyOf(OffsetAt(slot)); }
  Bytes ValueAt(const uint8_t* slot) const { return ValueOf(OffsetAt(slot)); }

  uint32_t stride;  // bytes of a bucket
  uint32_t key_size, value_size;
  static constexpr uint32_t item_size = sizeof(uint64_t);
  static constexpr bool wide = false;
  bool halves, port;
  uint8_t* base;  // of the pool

 private:
  static uint64_t* WordAt(uint8_t* at) { return reinterpret_cast<uint64_t*>(at); }
  static const uint64_t* WordAt(const uint8_t* at) { return reinterpret_cast<const uint64_t*>(at); }
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_POINTER_SLOTS_H_
