// Lookup, for slots that hold items.
#include <cstring>

#include "targets/common/planted_bugs.h"
#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Lookup(const Item& key, uint8_t* value) {
  Access access(Has(Bug::kLookupUnlocked) ? nullptr : locks_.get(), geometry_.ProbeOf(key));
  bool found = false;
  const uint8_t* late = nullptr;
  ForEachCopy(access, key, [&](const Place& place) {
    const uint8_t* at = geometry_.Slot(place.bucket, place.slot) + geometry_.key_size;
    found = true;
    DO_IF (Bug::kUnlockBeforeCopy) late = at;
    SKIP_IF (Bug::kUnlockBeforeCopy) std::memcpy(value, at, geometry_.value_size);
    return 1;
  });
  if (late != nullptr) {
    access.Release();
    std::memcpy(value, late, geometry_.value_size);
  }
  return found ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

}  // namespace powercut::level
