// Level hashing with items out of the table (Zuo, Hua, Wu, OSDI 2018, section 5): the algorithm of target level over
// slots that hold pointers (level/pointer_slots.h), and the life of the items that they point to.
//
// Order. An item is durable before a slot points to it, and unreachable, durably, before it is freed. A power cut in
// between leaves an item that no slot points to; the next open of `hardened` frees it.
//
// A movement or a rehash copies the pointer. A power cut during either leaves two slots that share one item.
#ifndef POWERCUT_TARGETS_LEVEL_PTR_TABLE_H_
#define POWERCUT_TARGETS_LEVEL_PTR_TABLE_H_

#include <cstdint>

#include "targets/common/scheme_table.h"
#include "targets/level/table.h"

namespace powercut::level_ptr {

using level::ItemBug;

class Table : public level::Table {
 public:
  // The geometry word has 16 bits for the size of the longest key.
  static constexpr ItemSizes kSizes = {.most_key = 4096, .most_value = 65536};
  POWERCUT_MIXED_SCHEME_TABLE(level::Options);  // items.cc
  bool Reaches(uint64_t offset);                // recover.cc

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
  // Pool offset of the item of the key; 0: there is none.
  uint64_t FindItem(const level::Item& key);
  // Allocates and writes an item, durable unless the bug `unordered` is planted. Returns its pool offset; 0: no room.
  uint64_t NewItem(Bytes key, Bytes value, ItemBug unordered);
  void PersistItem(uint64_t item) const;
  bool Overwrite(uint64_t item, Bytes value);

  // recover.cc: whether an allocated block is large enough for the item that its header describes.
  bool HoldsItem(uint64_t offset) const;
};

}  // namespace powercut::level_ptr
#endif  // POWERCUT_TARGETS_LEVEL_PTR_TABLE_H_
