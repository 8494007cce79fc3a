// The operations: an item is made before the algorithm publishes its pointer, and freed after the algorithm has taken
// the pointer back.
#include <cstring>

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

Item Table::ItemOf(Bytes key, uint64_t offset) const {
  Item item = KeyItem(key);
  *reinterpret_cast<uint64_t*>(item.bytes) = geometry_.WordOf(item.probe, offset);
  return item;
}

uint64_t Table::FindItem(const Item& key) {
  const level::Access access(locks_.get(), key.probe);
  const level::Place place = Find(access, key);
  return place.found() ? geometry_.OffsetAt(geometry_.Slot(place.bucket, place.slot)) : 0;
}

uint64_t Table::AllocateItem(uint64_t bytes) {
  return Has(ItemBug::kAllocatorUnlocked) ? allocator_.Allocate(bytes) : AllocateBlock(bytes);
}

uint64_t Table::NewItem(Bytes key, Bytes value, ItemBug unordered) {
  const ItemHeader sizes{key.size, value.size};
  const uint64_t item = AllocateItem(sizes.bytes());
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
  if (AsPorted()) return InsertAsPorted(key, value);
  const uint64_t offset = NewItem(key, value, ItemBug::kInsertUnordered);
  if (offset == 0) return POWERCUT_FULL;
  const powercut_status status = level::Table::Insert(ItemOf(key, offset));
  if (status != POWERCUT_OK) FreeBlock(offset);
  DO_IF (ItemBug::kInsertUnordered) PersistItem(offset);
  return status;
}

powercut_status Table::Update(Bytes key, Bytes value) {
  if (AsPorted()) return UpdateAsPorted(key, value);
  const uint64_t seen = FindItem(KeyItem(key));
  if (seen == 0) return POWERCUT_NOT_FOUND;
  if (Overwrite(seen, value)) return POWERCUT_OK;
  const uint64_t offset = NewItem(key, value, ItemBug::kUpdateUnordered);
  if (offset == 0) return POWERCUT_FULL;
  DO_IF (ItemBug::kUpdateFreesFirst) FreeBlock(seen);
  Item old;
  const powercut_status status = level::Table::Update(ItemOf(key, offset), &old);
  if (status != POWERCUT_OK) {  // another thread has erased the key meanwhile
    FreeBlock(offset);
    return status;
  }
  pmem::mark("update.unlinked");
  SKIP_IF (ItemBug::kUpdateFreesFirst) FreeBlock(Has(ItemBug::kFreedByHint) ? seen : Geometry::OffsetAt(old.bytes));
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
  if (AsPorted()) return EraseAsPorted(key);
  const Item item = KeyItem(key);
  const uint64_t seen = Has(ItemBug::kEraseFreesFirst) ? FindItem(item) : 0;
  if (seen != 0) FreeBlock(seen);
  Item old;
  const powercut_status status = level::Table::Erase(item, &old);
  if (status != POWERCUT_OK) return status;
  pmem::mark("erase.unlinked");
  if (seen == 0) FreeBlock(Geometry::OffsetAt(old.bytes));
  return POWERCUT_OK;
}

powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  if (AsPorted()) return LookupAsPorted(key, value);
  const Item item = KeyItem(key);
  uint64_t late = 0;
  bool found = false;
  {
    const level::Access access(locks_.get(), item.probe);
    level::Table::ForEachCopy(access, item, [&](const level::Place& place) {
      const uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
      found = true;
      DO_IF (ItemBug::kValueUnlocked) late = Geometry::OffsetAt(slot);
      SKIP_IF (ItemBug::kValueUnlocked) value->Put(geometry_.ValueAt(slot));
      return 1;
    });
  }
  if (late != 0) value->Put(geometry_.ValueOf(late));
  return found ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

powercut_status Table::Maintain(const char* command) {
  if (!AsPorted()) return level::Table::Maintain(command);
  return std::strcmp(command, "expand") == 0 ? ExpandAsPorted() : POWERCUT_UNSUPPORTED;
}

}  // namespace powercut::level_ptr
