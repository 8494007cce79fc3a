// The structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/hopscotch/table.h"

namespace powercut::hopscotch {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const auto home = static_cast<unsigned long long>(region);
  const Array array = Current();
  if (Reach(array) < 64 && *HopAt(array, home) >= Bit(Reach(array))) {
    return Broken(message, size, "bucket %llu: its bitmap goes beyond the neighbourhood", home);
  }
  const uint64_t wrong = ForEachOf(array, home, [&](uint64_t bucket) {
    int homes = 0;
    for (uint64_t i = 0; i < Reach(array); ++i) {
      homes += (*HopAt(array, array.Before(bucket, i)) & Bit(i)) != 0 ? 1 : 0;
    }
    return homes != 1 || Home(array, KeyOf(array, bucket)) != home || Find(array, KeyOf(array, bucket)) != bucket;
  });
  if (wrong == kNowhere) return POWERCUT_OK;
  return Broken(message, size, "bucket %llu: the item in bucket %llu is of another home, or there twice", home,
                static_cast<unsigned long long>(wrong));
}

}  // namespace powercut::hopscotch
