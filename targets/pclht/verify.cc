// The structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {
namespace {

unsigned long long Number(uint64_t n) { return n; }

}  // namespace

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) return VerifyBlocks(message, size);
  const HashTable* table = Current();
  const uint64_t bin = region - 1;
  for (Bucket* bucket = First(*table, bin); bucket != nullptr; bucket = Next(*bucket)) {
    if (bucket->next != 0 && !IsBucket(bucket->next)) {
      return Broken(message, size, "bucket %llu: the chain leads out of the pool", Number(bin));
    }
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (!entries_.IsUsed(bucket, i)) continue;
      if (entries_.has_pointers() && !IsItem(bucket->key[i])) {
        return Broken(message, size, "bucket %llu: the pointer in entry %u leads to no item", Number(bin), i);
      }
      if (entries_.has_flags() && !HasRoom(*Entries::Wide(bucket), i)) {
        return Broken(message, size, "bucket %llu: entry %u has no room of its own", Number(bin), i);
      }
      if ((entries_.HashAt(bucket, i) & table->mask) != bin) {
        return Broken(message, size, "bucket %llu: the item in entry %u belongs elsewhere", Number(bin), i);
      }
      const Item item = entries_.ItemOf(entries_.ViewAt(bucket, i).key);
      const Entry first = Find(item, Home(item.hash));
      if (first.bucket != bucket || first.index != i) {
        return Broken(message, size, "bucket %llu: the item in entry %u is there twice", Number(bin), i);
      }
    }
  }
  return POWERCUT_OK;
}

// The table object, its buckets, every chained bucket, and every item outside of the table: a block of its own each.
powercut_status Table::VerifyBlocks(char* message, size_t size) {
  const HashTable* table = Current();
  uint64_t allocated = 0, wanted = 2;
  allocator_.ForEach([&](uint64_t offset, uint64_t length) {
    const uint64_t bytes = offset == root()->table  ? sizeof(HashTable)
                           : offset == table->table ? table->buckets * entries_.bucket_bytes()
                                                    : entries_.bucket_bytes();
    if (Reaches(offset) && (length == bytes || (entries_.has_pointers() && IsItem(offset)))) ++allocated;
  });
  for (uint64_t bin = 0; bin < table->buckets; ++bin) {
    const Bucket* home = First(*table, bin);
    for (const Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
      if (bucket != home) ++wanted;
      for (uint32_t i = 0; i < kEntries && entries_.has_pointers(); ++i) wanted += bucket->key[i] != 0 ? 1 : 0;
    }
  }
  if (allocated == wanted) return POWERCUT_OK;
  return Broken(message, size, "the table consists of %llu blocks, of which %llu are allocated", Number(wanted),
                Number(allocated));
}

// Inline: whether the entry names a room that no earlier entry names.
bool Table::HasRoom(const WideBucket& bucket, uint32_t i) const {
  const uint32_t room = entries_.RoomOf(bucket, i);
  for (uint32_t other = 0; other < i; ++other) {
    if (entries_.RoomOf(bucket, other) == room) return false;
  }
  return room < kRooms;
}

}  // namespace powercut::pclht
