// Draws a P-CLHT: the root, then each bucket with the buckets chained behind it.
#include "targets/common/drawing.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

void Table::Draw(Drawing* to) const {
  static constexpr uint64_t kZero = 0;
  to->Group("root");
  to->Pointer("table", &root()->table);
  to->Pointer("oldest", &root()->oldest);
  to->Group("key 0");
  if (root()->zero_present != 0) {
    to->Item(0, Bytes(kZero), Bytes(root()->zero_value), &root()->zero_present, 2 * sizeof(uint64_t));
  } else {
    to->Empty(0, &root()->zero_present, 2 * sizeof(uint64_t));
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
        if (bucket->key[i] != 0) {
          to->Item(slot, Bytes(bucket->key[i]), Bytes(bucket->value[i]), &bucket->key[i], sizeof bucket->key[i],
                   remark);
        } else {
          to->Empty(slot, &bucket->key[i], sizeof bucket->key[i], remark);
        }
      }
    }
  }
}

}  // namespace powercut::pclht

POWERCUT_DRAWS(powercut::pclht::Table)
