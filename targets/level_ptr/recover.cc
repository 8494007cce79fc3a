// Format and open. Recovery finds the slots of an item by the key in the item, so that no slot is read for its own
// sake.
#include <utility>

#include "targets/level_ptr/table.h"

namespace powercut::level_ptr {

using level::Item;

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  return level::Table::Format(pool, options);
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  Table opening(pool, options);
  const powercut_status begun = opening.Begin();
  if (begun != POWERCUT_OK) return begun;
  // The paper allocates, and says nothing of blocks that a power cut leaves to nobody.
  if (options.hardened && !opening.Has(ItemBug::kItemsNotSwept) &&
      !opening.allocator_.Sweep([&](uint64_t offset) { return opening.Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  opening.Settle();
  return HandOut(std::move(opening), out);
}

// A block that holds no item, or an item that is not durable, has no slot: its bytes are no key of a slot that points
// to the block.
bool Table::Reaches(uint64_t offset) {
  if (level::Table::Reaches(offset)) return true;
  if (!HoldsItem(offset)) return false;
  bool reached = false;
  level::Table::ForEachCopy(level::Access(), KeyItem(geometry_.KeyOf(offset)), [&](const level::Place& place) {
    reached = geometry_.OffsetAt(geometry_.Slot(place.bucket, place.slot)) == offset;
    return reached ? 1 : 0;
  });
  return reached;
}

}  // namespace powercut::level_ptr
