// Items out of the slots (items=pointer, items=transaction): a block of the pool allocator with the sizes, the key and
// the value.
//
// Order. An item is durable before its slot is, or the undo log is. A slot lets go of an item, durably, before the item
// is freed. A power cut in between leaves a block that no slot points to, which the next open frees. Items never
// change: an update makes a new item. A stale slot may point to a free block, and nothing follows it.
#include "targets/cceh/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cceh {

// Returns the pool offset of a new item; 0: the pool is full. The item is durable, but for transactions, whose commit
// flushes it. `old`: the item whose place it takes; 0: none.
uint64_t Table::NewItem(Bytes key, Bytes value, uint64_t old) {
  const ItemHeader sizes{key.size, value.size};
  const uint64_t item = Allocate(sizes.bytes());
  if (item == 0) return 0;
  ItemHeader* header = ItemAt(item);
  SKIP_IF (Bug::kItemSizesLate) *header = sizes;
  value.CopyTo(key.CopyTo(header + 1));
  const bool flushes = options_.items != Items::kTransaction && !Has(Bug::kItemUnordered);
  if (flushes) pmem::persist(header, Has(Bug::kItemSizesLate) ? sizes.bytes() : FlushedBytes(item, old));
  DO_IF (Bug::kItemSizesLate) *header = sizes;
  pmem::mark("item.made");
  return item;
}

// All of the item, unless a planted bug says otherwise.
uint64_t Table::FlushedBytes(uint64_t item, uint64_t old) const {
  DO_IF (Bug::kItemFirstLine) return pmem::kLine;
  DO_IF (Bug::kItemOldSize) return ItemAt(old != 0 ? old : item)->bytes();
  return ItemAt(item)->bytes();
}

powercut_status Table::Replace(Slot* slot, Bytes key, Bytes value) {
  const uint64_t old = slot->value;
  if (Overwrite(old, value)) return POWERCUT_OK;
  const uint64_t item = NewItem(key, value, old);
  if (item == 0) return POWERCUT_FULL;
  DO_IF (Bug::kItemUpdateFreesFirst) Free(old);
  Change change(this, slot);
  pmem::mark("update");
  pmem::atomic_store(&slot->value, item);
  change.Commit(slot, item);
  pmem::mark("update.switched");
  SKIP_IF (Bug::kItemUpdateFreesFirst) Free(old);
  DO_IF (Bug::kItemUnordered) pmem::persist(ItemAt(item), ItemAt(item)->bytes());
  return POWERCUT_OK;
}

// Planted bugs alone: an item in place, where the new value fits. No order of length and bytes is right.
bool Table::Overwrite(uint64_t item, Bytes value) {
  if (!Has(Bug::kOverwriteLength) && !Has(Bug::kOverwriteBytes)) return false;
  ItemHeader* header = ItemAt(item);
  if (ItemHeader{header->key_size, value.size}.bytes() > allocator_.BytesOf(item)) return false;
  const auto store_length = [header, value] {
    pmem::atomic_store(&header->value_size, value.size);
    pmem::persist(&header->value_size, sizeof header->value_size);
  };
  DO_IF (Bug::kOverwriteLength) store_length();
  value.CopyTo(header->data() + header->key_size);
  pmem::persist(header->data() + header->key_size, value.size);
  SKIP_IF (Bug::kOverwriteLength) store_length();
  return true;
}

// A block that holds no item, or an item that is not durable, has no slot: its bytes are no key of a slot that points
// to the block.
bool Table::ReachesItem(uint64_t offset) {
  if (!HasPointers() || !HoldsItem(offset)) return false;
  const Bytes key = ItemAt(offset)->key();
  bool reached = false;
  ForEachCopy(key, [&](Bytes found, Bytes) {
    reached = found.data == key.data;
    return reached;
  });
  return reached;
}

}  // namespace powercut::cceh
