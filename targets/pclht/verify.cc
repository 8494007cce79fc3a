// The structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const auto number = [](uint64_t n) { return static_cast<unsigned long long>(n); };
  const HashTable* table = Current();
  if (region == 0) {
    // The table object, its buckets, and every chained bucket: a block of its own each.
    uint64_t blocks = 0, chained = 0;
    allocator_.ForEach([&](uint64_t offset, uint64_t length) {
      const uint64_t wanted = offset == root()->table  ? sizeof(HashTable)
                              : offset == table->table ? table->buckets * sizeof(Bucket)
                                                       : sizeof(Bucket);
      if (Reaches(offset) && length == wanted) ++blocks;
    });
    for (uint64_t bin = 0; bin < table->buckets; ++bin) {
      for (const Bucket* bucket = Next(*First(*table, bin)); bucket != nullptr; bucket = Next(*bucket)) ++chained;
    }
    if (blocks != 2 + chained) {
      return Broken(message, size, "the table consists of %llu blocks, of which %llu are allocated",
                    number(2 + chained), number(blocks));
    }
    return POWERCUT_OK;
  }
  const uint64_t bin = region - 1;
  for (const Bucket* bucket = First(*table, bin); bucket != nullptr; bucket = Next(*bucket)) {
    if (bucket->next != 0 && !IsBucket(bucket->next)) {
      return Broken(message, size, "bucket %llu: the chain leads out of the pool", number(bin));
    }
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (bucket->key[i] == 0) continue;
      if ((bucket->key[i] & table->mask) != bin) {
        return Broken(message, size, "bucket %llu: the item in entry %u belongs elsewhere", number(bin), i);
      }
      const Entry first = Find(bucket->key[i], Home(bucket->key[i]));
      if (first.bucket != bucket || first.index != i) {
        return Broken(message, size, "bucket %llu: the item in entry %u is there twice", number(bin), i);
      }
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::pclht
