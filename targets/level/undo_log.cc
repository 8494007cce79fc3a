// The undo log of items that are overwritten in place (3.3(4)), for slots that hold items.
#include <cstring>

#include "targets/common/planted_bugs.h"
#include "targets/level/table.h"

namespace powercut::level {

// Log the old item, make the log valid, overwrite in place, make the log invalid; each step durable before the
// next. Until the last one, recovery puts the old item back. The key stays, so only the value is written.
void Table::UpdateLogged(const Access& access, const Place& place, const Item& item) {
  const bool shared = access.alone() || Has(Bug::kUndoLogShared);
  const SpinGuard guard(shared ? nullptr : locks_->undo_log());
  pmem::mark("update.logged");
  Root* log = root();
  uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
  geometry_.Copy(log->log_item, slot);
  SKIP_IF (Bug::kLogUnordered) pmem::persist(log->log_item, geometry_.item_size);
  pmem::atomic_store(&log->log_slot, OffsetOf(slot));
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  DO_IF (Bug::kLogUnordered) pmem::persist(log->log_item, geometry_.item_size);

  if (geometry_.wide) {
    std::memcpy(slot + 16, item.bytes + 16, 15);
  } else {
    std::memcpy(slot + 8, item.bytes + 8, 8);
  }
  // If a slot straddles two lines, only the value's line is dirty.
  uint8_t* value = slot + geometry_.key_size;
  SKIP_IF (Bug::kLogClearedEarly) pmem::persist(value, geometry_.value_size);
  pmem::mark("update.overwritten");
  pmem::atomic_store(&log->log_slot, uint64_t{0});
  pmem::persist(&log->log_slot, sizeof log->log_slot);
  DO_IF (Bug::kLogClearedEarly) pmem::persist(value, geometry_.value_size);
}

void Table::ReplayLog() {
  Root* log = root();
  const uint64_t offset = log->log_slot;
  if (offset == 0 || !allocator_.Contains(offset, geometry_.item_size)) return;
  pmem::mark("recover.log");
  WriteItem(pool_.base + offset, log->log_item);
  pmem::atomic_store(&log->log_slot, uint64_t{0});
  pmem::persist(&log->log_slot, sizeof log->log_slot);
}

}  // namespace powercut::level
