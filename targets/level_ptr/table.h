// Level hashing with items out of the table (Zuo, Hua, Wu, OSDI 2018, section 5): the algorithm of target level over
// slots that hold pointers (level/pointer_slots.h), and the life of the items that they point to.
//
// Order. An item is durable before a slot points to it, and unreachable, durably, before it is freed. A power cut in
// between leaves an item that no slot points to; the next open of `hardened` frees it.
//
// A movement or a rehash copies the pointer. A power cut during either leaves two slots that share one item.
//
// Threads (port=clevel, `hardened`) read an item under the lock of a slot that points to the item, or as holder of its
// key's stripe. Who frees the item has cleared or switched the slot under both.
#ifndef POWERCUT_TARGETS_LEVEL_PTR_TABLE_H_
#define POWERCUT_TARGETS_LEVEL_PTR_TABLE_H_

#include <cstdint>

#include "targets/common/scheme_table.h"
#include "targets/level/table.h"

namespace powercut::level_ptr {

using level::ItemBug;

// Words of the port that lie in the pool, like the fields of the authors' class: `published` reads them after a power
// cut. Their line is that of the undo log, which items out of the table do not need.
struct PortWords {
  uint64_t need_resizing;
  // The barrier of all threads.
  uint64_t crossing;    // how many threads have come
  uint64_t generation;  // stands for the condition that the threads wait for
  uint8_t mutex;
};
static_assert(sizeof(PortWords) <= pmem::kLine);

class Table : public level::Table {
 public:
  // The geometry word has 16 bits for the size of the longest key.
  static constexpr ItemSizes kSizes = {.most_key = 4096, .most_value = 65536};
  POWERCUT_MIXED_SCHEME_TABLE(level::Options);  // items.cc
  powercut_status Maintain(const char* command);
  bool Reaches(uint64_t offset);  // recover.cc

  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) {
    const level::Access alone;
    level::Table::ForEachCopy(alone, KeyItem(key), [&](const level::Place& place) {
      const uint64_t item = geometry_.OffsetAt(geometry_.Slot(place.bucket, place.slot));
      return visit(geometry_.KeyOf(item), geometry_.ValueOf(item)) ? 1 : 0;
    });
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    WalkSlots(region, [&](const uint8_t* slot) { return visit(geometry_.KeyAt(slot), geometry_.ValueAt(slot)); });
  }

 private:
  Table(powercut_pool pool, const Options& options) : level::Table(pool, options) {}
  bool Has(ItemBug bug) const { return options_.item_bug == bug; }

  // items.cc
  static level::Item KeyItem(Bytes key);
  level::Item ItemOf(Bytes key, uint64_t offset) const;
  // Pool offset of the item of the key; 0: there is none. Beside other threads it may change at once.
  uint64_t FindItem(const level::Item& key);
  uint64_t AllocateItem(uint64_t bytes);
  // Allocates and writes an item, durable unless the bug `unordered` is planted. Returns its pool offset; 0: no room.
  uint64_t NewItem(Bytes key, Bytes value, ItemBug unordered);
  void PersistItem(uint64_t item) const;
  bool Overwrite(uint64_t item, Bytes value);

  // port.cc: the operations of the port of clevel's authors, `published`.
  enum class Wanted : uint8_t { kValue, kErase, kSwitch };
  bool AsPorted() const { return options_.port && !options_.hardened; }
  PortWords* port_words() const { return reinterpret_cast<PortWords*>(root()->log_item); }
  powercut_status InsertAsPorted(Bytes key, Bytes value);
  powercut_status UpdateAsPorted(Bytes key, Bytes value);
  powercut_status EraseAsPorted(Bytes key);
  powercut_status LookupAsPorted(Bytes key, ValueRoom* value);
  powercut_status ExpandAsPorted();
  uint8_t* SlotLock(const level::Place& place) const;
  level::Place PlaceAt(level::Level* level, uint64_t index, uint32_t slot) const;
  // Visits the slots of the key's buckets in one level until `visit(place)` returns true. `by_slot`: slot 0 of both
  // buckets, then slot 1 of both.
  template <typename Visit>
  bool ForEachSlotOf(level::Level* level, const level::Probe& probe, bool by_slot, Visit visit);
  template <typename Change>
  powercut_status OnItem(const level::Item& item, bool alone, Change change);
  powercut_status Cross();
  void FillAsPorted(const level::Place& place, const uint8_t* word);
  void SetTokenAsPorted(const level::Place& place, uint8_t token);
  bool PlaceByMovementAsPorted(level::Level* level, uint64_t index, const uint8_t* word);

  bool HoldsItem(uint64_t offset) const {
    return options_.IsItem(geometry_.ItemAt(offset), allocator_.BytesOf(offset));
  }
};

}  // namespace powercut::level_ptr
#endif  // POWERCUT_TARGETS_LEVEL_PTR_TABLE_H_
