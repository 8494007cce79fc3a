// Items of any size outside of the table (items=pointers), as the authors of clevel hashing ported P-CLHT. An item is
// durable before a pointer names it, and freed when no durable pointer does. Their port has no update: `published` has
// that of `hardened`.
#include "targets/common/planted_bugs.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

// Nothing for items of other kinds. False: the pool is full.
bool Table::MakeItem(Item* item, Bytes value) {
  if (!entries_.has_pointers()) return true;
  const ItemHeader sizes{item->bytes.size, value.size};
  const uint64_t offset = Allocate(sizes.bytes());
  if (offset == 0) return false;
  auto* header = reinterpret_cast<ItemHeader*>(pool_.base + offset);
  SKIP_IF (Bug::kItemSizesLate) *header = sizes;
  value.CopyTo(item->bytes.CopyTo(header + 1));
  SKIP_IF (Bug::kItemUnflushed) pmem::persist(header, Has(Bug::kItemFirstLine) ? sizeof sizes : sizes.bytes());
  DO_IF (Bug::kItemSizesLate) *header = sizes;
  item->key[0] = offset;
  return true;
}

// A search may still read the old item, and finds by the lock's count that it has.
powercut_status Table::UpdatePointer(Bucket* home, const Entry& entry, Item* item, Bytes value) {
  const uint64_t old = *entry.key();
  const bool overwritten = OverwriteItem(old, value);
  if (overwritten || !MakeItem(item, value)) {
    UnlockChanged(home);
    return overwritten ? POWERCUT_OK : POWERCUT_FULL;
  }
  DO_IF (Bug::kUpdateFreesFirst) FreeItem(old);
  Commit(entry.key(), item->key[0]);
  pmem::mark("update.switched");
  DO_IF (Bug::kItemFreedLocked) FreeItem(old);
  UnlockChanged(home);
  if (!Has(Bug::kUpdateFreesFirst) && !Has(Bug::kItemFreedLocked)) FreeItem(old);
  return POWERCUT_OK;
}

// The planted bugs of an update in place. A new item keeps a value and its size together; two stores do not.
bool Table::OverwriteItem(uint64_t offset, Bytes value) const {
  if (!Has(Bug::kItemGrownInPlace) && !Has(Bug::kItemShrunkInPlace)) return false;
  auto* header = reinterpret_cast<ItemHeader*>(pool_.base + offset);
  const bool grows = value.size > header->value_size;
  if (!Has(grows ? Bug::kItemGrownInPlace : Bug::kItemShrunkInPlace)) return false;
  if (ItemHeader{header->key_size, value.size}.bytes() > allocator_.BytesOf(offset)) return false;
  uint8_t* bytes = header->data() + header->key_size;
  if (grows) pmem::atomic_store(&header->value_size, value.size);
  if (grows) pmem::persist(&header->value_size, sizeof header->value_size);
  value.CopyTo(bytes);
  pmem::persist(bytes, value.size);
  if (!grows) pmem::atomic_store(&header->value_size, value.size);
  if (!grows) pmem::persist(&header->value_size, sizeof header->value_size);
  return true;
}

// Whether the block is allocated and has room for an item that the table takes.
bool Table::IsItem(uint64_t offset) const {
  const Entries::View item = entries_.BlockAt(offset);
  return item.key.data != nullptr && sizeof(ItemHeader) + item.key.size + item.value.size <= allocator_.BytesOf(offset);
}

}  // namespace powercut::pclht
