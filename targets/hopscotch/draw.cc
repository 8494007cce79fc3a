// Draws a hopscotch table: the root, then each bucket with its bitmap and the item that lies there.
#include "targets/common/drawing.h"
#include "targets/hopscotch/table.h"

namespace powercut::hopscotch {

void Table::Draw(Drawing* to) const {
  to->Group("root");
  to->Pointer("array", &root()->array);
  to->Group("buckets");
  const Array array = Current();
  for (uint64_t b = 0; b < array.count && to->Wants(); ++b) {
    to->Bucket(b);
    to->Word("hop", HopAt(array, b), sizeof(uint64_t), "0x%llx", static_cast<unsigned long long>(*HopAt(array, b)));
    const uint64_t size = stride() - sizeof(uint64_t);
    if (IsUsed(array, b)) {
      to->Item(0, KeyOf(array, b), ValueOf(array, b), KeyOf(array, b), size);
    } else {
      to->Empty(0, KeyOf(array, b), size);
    }
  }
}

}  // namespace powercut::hopscotch

POWERCUT_DRAWS(powercut::hopscotch::Table)
