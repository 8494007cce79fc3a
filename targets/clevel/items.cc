// Items outside of the table, and the persistent buffers that keep them from leaking (2.3, 3.3).
#include "targets/clevel/table.h"

namespace powercut::clevel {

bool Table::KeyEquals(uint64_t word, Bytes key) const { return KeyOf(word) == key; }

uint64_t Table::NewItem(const Thread& thread, Bytes key, Bytes value, Bug unordered) {
  const ItemHeader sizes{key.size, value.size};
  const uint64_t offset = allocator_.AllocateInto(&buffer(thread).item, ItemBytes(sizes), ArenaOf(thread));
  if (offset == 0) return 0;
  auto* header = At<ItemHeader>(offset);
  *header = sizes;
  value.CopyTo(key.CopyTo(header + 1));
  if (!Has(unordered)) PersistItem(offset);
  return offset;
}

void Table::PersistItem(uint64_t offset) const {
  pmem::persist(At<uint8_t>(offset), ItemBytes(*At<ItemHeader>(offset)));
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
