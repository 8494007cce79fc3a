// The structural invariants that hold after every recovery.
#include "targets/common/scheme_target.h"
#include "targets/linear/table.h"

namespace powercut::linear {

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) {
    return root()->log_slot == 0 ? POWERCUT_OK : Broken(message, size, "the log is still valid after recovery");
  }
  const auto slot = static_cast<unsigned long long>(region - 1);
  if (StateOf(slot) > kErased) return Broken(message, size, "slot %llu: its state is no state", slot);
  // No free slot, and no other slot of the key, lies between an item and its home.
  if (StateOf(slot) == kFull && Find(KeyOf(slot)) != slot) {
    return Broken(message, size, "slot %llu: a search for its key does not come there", slot);
  }
  return POWERCUT_OK;
}

}  // namespace powercut::linear
