// The operations: an item is made before the algorithm publishes its pointer, and freed after the algorithm has taken
// the pointer back.
#include "targets/common/planted_bugs.h"
#include "targets/level_ptr/table.h"

namespace powercut::level_ptr {

using level::Geometry;
using level::Item;

Item Table::KeyItem(Bytes key) {
  Item item;
  item.key = key;
  item.probe = Geometry::ProbeOf(key);
  return item;
}

uint64_t Table::FindItem(const Item& key) {
  const level::Place place = Find(level::Access(), key);
  return place.found() ? geometry_.OffsetAt(geometry_.Slot(place.bucket, place.slot)) : 0;
}

uint64_t Table::NewItem(Bytes key, Bytes value, ItemBug unordered) {
  const ItemHeader sizes{key.size, value.size};
  const uint64_t item = allocator_.Allocate(sizes.bytes());
  if (item == 0) return 0;
  ItemHeader* header = geometry_.ItemAt(item);
  *header = sizes;
  value.CopyTo(key.CopyTo(header + 1));
  SKIP_IF (unordered) PersistItem(item);
  return item;
}

void Table::PersistItem(uint64_t item) const {
  const ItemHeader* header = geometry_.ItemAt(item);
  pmem::persist(header, Has(ItemBug::kFlushFirstLine) ? pmem::kLine : header->bytes());
}

powercut_status Table::Insert(Bytes key, Bytes value) {
  const uint64_t offset = NewItem(key, value, ItemBug::kInsertUnordered);
  if (offset == 0) return POWERCUT_FULL;
  Item item = KeyItem(key);
  *reinterpret_cast<uint64_t*>(item.bytes) = Geometry::WordOf(item.probe, offset);
  const powercut_status status = level::Table::Insert(item);
  if (status != POWERCUT_OK) allocator_.Free(offset);
  DO_IF (ItemBug::kInsertUnordered) PersistItem(offset);
  return status;
}

powercut_status Table::Update(Bytes key, Bytes value) {
  Item item = KeyItem(key);
  const uint64_t old = FindItem(item);
  if (old == 0) return POWERCUT_NOT_FOUND;
  if (Overwrite(old, value)) return POWERCUT_OK;
  const uint64_t offset = NewItem(key, value, ItemBug::kUpdateUnordered);
  if (offset == 0) return POWERCUT_FULL;
  *reinterpret_cast<uint64_t*>(item.bytes) = Geometry::WordOf(item.probe, offset);
  DO_IF (ItemBug::kUpdateFreesFirst) allocator_.Free(old);
  const powercut_status status = level::Table::Update(item);
  pmem::mark("update.unlinked");
  SKIP_IF (ItemBug::kUpdateFreesFirst) allocator_.Free(old);
  DO_IF (ItemBug::kUpdateUnordered) PersistItem(offset);
  return status;
}

// Planted bugs alone: an item in place, where the new value fits. No order of length and bytes is right.
bool Table::Overwrite(uint64_t item, Bytes value) {
  if (!Has(ItemBug::kOverwriteLength) && !Has(ItemBug::kOverwriteBytes)) return false;
  ItemHeader* header = geometry_.ItemAt(item);
  if (ItemHeader{header->key_size, value.size}.bytes() > allocator_.BytesOf(item)) return false;
  uint8_t* bytes = header->data() + header->key_size;
  DO_IF (ItemBug::kOverwriteLength) pmem::atomic_store(&header->value_size, value.size);
  DO_IF (ItemBug::kOverwriteLength) pmem::persist(&header->value_size, sizeof header->value_size);
  value.CopyTo(bytes);
  pmem::persist(bytes, value.size);
  SKIP_IF (ItemBug::kOverwriteLength) pmem::atomic_store(&header->value_size, value.size);
  SKIP_IF (ItemBug::kOverwriteLength) pmem::persist(&header->value_size, sizeof header->value_size);
  return true;
}

// Two slots may share the item. `published` clears one of them, as target level does, and the other one then points to
// a free block.
powercut_status Table::Erase(Bytes key) {
  const Item item = KeyItem(key);
  const uint64_t old = FindItem(item);
  if (old == 0) return POWERCUT_NOT_FOUND;
  DO_IF (ItemBug::kEraseFreesFirst) allocator_.Free(old);
  const powercut_status status = level::Table::Erase(item);
  pmem::mark("erase.unlinked");
  SKIP_IF (ItemBug::kEraseFreesFirst) allocator_.Free(old);
  return status;
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  const uint64_t item = FindItem(KeyItem(key));
  if (item == 0) return POWERCUT_NOT_FOUND;
  value->Put(geometry_.ValueOf(item));
  return POWERCUT_OK;
}

}  // namespace powercut::level_ptr
