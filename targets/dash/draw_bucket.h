// A bucket of Dash in a drawing, in both of its schemes.
#ifndef POWERCUT_TARGETS_DASH_DRAW_BUCKET_H_
#define POWERCUT_TARGETS_DASH_DRAW_BUCKET_H_

#include "targets/common/drawing.h"
#include "targets/dash/bucket.h"

namespace powercut::dash {

// `slots`: in use, of kSlots. `counts`: its records are the table's, and no copy of a split that has not ended.
// `view(record)` returns its ItemView.
template <typename View>
void DrawBucket(Drawing* to, const Bucket* bucket, uint32_t number, uint32_t slots, bool counts, View view) {
  const uint32_t allocated = bucket->Load().allocated();
  to->Bucket(number);
  if ((bucket->lock & Bucket::kLocked) != 0) to->Word("lock", &bucket->lock, sizeof bucket->lock, "held");
  to->Tokens("allocated", &bucket->word, sizeof bucket->word, allocated, slots);
  for (uint32_t s = 0; s < kSlots; ++s) {
    const Record& record = bucket->record[s];
    const bool used = (allocated >> s & 1) != 0;
    if (!used && s >= slots) continue;
    if (used && counts) {
      const ItemView item = view(record);
      to->Item(s, item.key, item.value, &record, sizeof record);
    } else {
      to->Empty(s, &record, sizeof record, used ? "copy that does not count yet" : nullptr);
    }
  }
}

}  // namespace powercut::dash
#endif  // POWERCUT_TARGETS_DASH_DRAW_BUCKET_H_
