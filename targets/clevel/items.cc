// Items outside of the table, and the persistent buffers that keep them from leaking (2.3, 3.3).
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

uint64_t Table::NewItem(const Thread& thread, Bytes key, Bytes value, Bug unordered) {
  const ItemHeader sizes{key.size, value.size};
  const uint64_t offset = allocator_.AllocateInto(&buffer(thread).item, sizes.bytes(), ArenaOf(thread));
  if (offset == 0) return 0;
  auto* header = At<ItemHeader>(offset);
  SKIP_IF (Bug::kSizesLate) *header = sizes;
  value.CopyTo(key.CopyTo(header + 1));
  if (!Has(unordered)) pmem::persist(header, Has(Bug::kFirstLineFlushed) ? sizeof sizes : sizes.bytes());
  DO_IF (Bug::kSizesLate) *header = sizes;
  return offset;
}

void Table::PersistItem(uint64_t offset) const { pmem::persist(HeaderOf(offset), HeaderOf(offset)->bytes()); }

// The planted bugs of an update in place. Copy-on-write keeps a value and its size together; two stores do not.
bool Table::GrowInPlace(uint64_t item, Bytes value) const {
  const ItemHeader& header = *At<ItemHeader>(item);
  const bool fits = ItemHeader{header.key_size, value.size}.bytes() <= allocator_.BytesOf(item);
  if (value.size <= header.value_size || !fits) return false;
  SetValueSize(item, value.size);
  SetValue(item, value);
  return true;
}

bool Table::ShrinkInPlace(uint64_t item, Bytes value) const {
  if (value.size >= At<ItemHeader>(item)->value_size) return false;
  SetValue(item, value);
  SetValueSize(item, value.size);
  return true;
}

void Table::SetValueSize(uint64_t item, uint32_t size) const {
  uint32_t* word = &At<ItemHeader>(item)->value_size;
  pmem::atomic_store(word, size);
  pmem::persist(word, sizeof *word);
}

void Table::SetValue(uint64_t item, Bytes value) const {
  auto* header = At<ItemHeader>(item);
  uint8_t* at = header->data() + header->key_size;
  value.CopyTo(at);
  pmem::persist(at, value.size);
}

void Table::Retire(const Thread& thread, uint64_t item) {
  uint64_t* word = &buffer(thread).old_item;
  if (options_.concurrent || !RetiresItems() || *word == item) return;
  pmem::atomic_store(word, item);
  pmem::persist(word, sizeof *word);
}

// Before the operation returns: a later block could begin where an item was that a buffer still names.
void Table::ForgetItems(const Thread& thread) {
  if (options_.concurrent) return;
  Buffer& words = buffer(thread);
  if (words.item != 0) pmem::atomic_store(&words.item, uint64_t{0});
  if (words.old_item != 0) pmem::atomic_store(&words.old_item, uint64_t{0});
  pmem::persist(&words, sizeof words);
}

}  // namespace powercut::clevel
