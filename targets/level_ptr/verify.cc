// The structural invariants that hold after every recovery: those of target level, and each pointer names an item.
#include "targets/common/scheme_target.h"
#include "targets/level_ptr/table.h"

namespace powercut::level_ptr {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  powercut_status status = POWERCUT_OK;
  WalkSlots(region, [&](const uint8_t* slot) {
    const uint64_t offset = geometry_.OffsetAt(slot);
    if (!HoldsItem(offset)) {
      status = Broken(message, size, "a slot points to offset %llu, where no item lies",
                      static_cast<unsigned long long>(offset));
    }
    return status != POWERCUT_OK;
  });
  return status == POWERCUT_OK ? level::Table::Verify(region, message, size) : status;
}

}  // namespace powercut::level_ptr
