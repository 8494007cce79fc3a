// Items of up to 15 bytes in place (items=inline). The paper on TurboHash says of CLHT30 that it updates in place, and
// `published` does: a key or a value of more than a word is two stores. `hardened` writes the value into the bucket's
// free room, and one store, of the key's second word with its flag, makes the room the entry's.
#include "targets/common/planted_bugs.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

void Table::StoreRoom(WideBucket* bucket, uint32_t room, const Words& value) const {
  pmem::atomic_store(&bucket->room[room][0], value[0]);
  pmem::atomic_store(&bucket->room[room][1], value[1]);
  SKIP_IF (Bug::kRoomUnflushed) pmem::persist(bucket->room[room], sizeof value);
}

void Table::CommitKeyInline(const Entry& entry, const Item& item) {
  WideBucket* bucket = Entries::Wide(entry.bucket);
  uint64_t* first = bucket->key[entry.index];
  const uint32_t room = entries_.FreeRoom(*bucket, entry.index);
  const uint64_t word = entries_.CommitWord(item, room);
  if (entries_.has_flags()) pmem::atomic_store(first, item.key[0]);
  if (entries_.has_flags()) pmem::flush_line(first);
  DO_IF (Bug::kKeyBeforeValue) Commit(entry.key(), word);
  StoreRoom(bucket, room, item.value);
  pmem::mark("insert.value");
  if (entries_.SplitsKeys()) pmem::nt_store(first, item.key[0]);
  SKIP_IF (Bug::kKeyBeforeValue) Commit(entry.key(), word);
}

void Table::UpdateInline(const Entry& entry, const Item& item) {
  WideBucket* bucket = Entries::Wide(entry.bucket);
  DO_IF (Bug::kValueInPlace) return StoreRoom(bucket, entries_.RoomOf(*bucket, entry.index), item.value);
  const uint32_t room = entries_.FreeRoom(*bucket, entry.index);
  StoreRoom(bucket, room, item.value);
  pmem::mark("update.room");
  Commit(entry.key(), entries_.CommitWord(item, room));
}

}  // namespace powercut::pclht
