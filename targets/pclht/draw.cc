// Draws a P-CLHT: the root, then each bucket with the buckets chained behind it.
#include "targets/common/drawing.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("table", &root()->table);
  to->Pointer("oldest", &root()->oldest);
  to->Group("key 0");
  if (root()->zero_present != 0) {
    to->Item(0, ZeroKey(), ZeroValue(), &root()->zero_present, sizeof(uint64_t) + options_.value_size);
  } else {
    to->Empty(0, &root()->zero_present, sizeof(uint64_t) + options_.value_size);
  }
  to->Group("buckets");
  const HashTable& table = *Current();
  for (uint64_t b = 0; b < table.buckets && to->Wants(); ++b) {
    to->Bucket(b);
    const Bucket* first = First(table, b);
    to->Word("lock", &first->lock, sizeof first->lock, "%u", first->lock);
    uint32_t slot = 0;
    for (const Bucket* bucket = first; bucket != nullptr && to->Wants(); bucket = Next(*bucket)) {
      for (uint32_t i = 0; i < kEntries; ++i, ++slot) {
        const char* remark = bucket == first ? nullptr : "chained";
        const uint64_t* key = entries_.is_wide() ? Entries::Wide(bucket)->key[i] : &bucket->key[i];
        const uint64_t bytes = entries_.is_wide() ? sizeof(Words) : sizeof(uint64_t);
        const Entries::View item = entries_.IsUsed(bucket, i) ? entries_.ViewAt(bucket, i) : Entries::View{};
        if (item.key.data != nullptr) {
          to->Item(slot, item.key, item.value, key, bytes, remark);
        } else {
          to->Empty(slot, key, bytes, *key == 0 ? remark : "no item");
        }
      }
    }
  }
}

}  // namespace powercut::pclht

POWERCUT_DRAWS(powercut::pclht::Table)
