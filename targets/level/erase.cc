// Log-free deletion (3.3(1)).
#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Erase(const Item& item, Item* old) {
  const Access access(locks_.get(), geometry_.ProbeOf(item));
  if (!ClearOtherCopy(access, item, Place{}, "erase", old)) return POWERCUT_NOT_FOUND;
  // The paper deletes "the" item, and is silent about a second copy that a power cut during a movement left behind. The
  // second copy would bring the item back. Cleared last to first or first to last makes no difference: until the last
  // one is gone, the erase has not happened.
  if (!options_.hardened || Has(Bug::kEraseFirstCopy)) return POWERCUT_OK;
  while (ClearOtherCopy(access, item, Place{}, "erase.duplicate")) continue;
  return POWERCUT_OK;
}

}  // namespace powercut::level
