// Format and open. Open is the recovery: it replays the log, ends a backward shift, and frees the array that a cut
// expansion built or left. Every step may be repeated without effect, so a cut inside recovery only repeats the steps.
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/linear/table.h"

namespace powercut::linear {
namespace {

constexpr uint64_t kMagic = 0x314e494c43435750;  // "PWCCLIN1"

}  // namespace

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(Root)) return POWERCUT_FULL;
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: every slot is durably free.
  const uint64_t array = table.allocator_.Allocate(table.ArrayBytes(options.slots));
  if (array == 0) return POWERCUT_FULL;
  SetWord(reinterpret_cast<uint64_t*>(pool.base + array), options.slots);
  SetWord(&table.root()->array, array);
  SetWord(&table.root()->magic, kMagic);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  Table table(pool, options);
  if (table.root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  const uint64_t array = table.root()->array;
  if (!table.allocator_.Matches() || !table.allocator_.Contains(array, pmem::kLine) || table.slots() < 2 ||
      table.slots() > pool.size / table.stride() ||
      !table.allocator_.Contains(array, table.ArrayBytes(table.slots())) || table.root()->log_slot > table.slots() ||
      !table.allocator_.Sweep([&](uint64_t offset) { return offset == array; })) {
    return POWERCUT_CORRUPT;
  }
  table.Recover();
  *out = new (std::nothrow) Table(table);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

void Table::Recover() {
  SKIP_IF (Bug::kLogNotReplayed) {
    if (root()->log_slot != 0) ReplayLog();
  }
  for (uint64_t slot = 0; slot < slots(); ++slot) used_ += StateOf(slot) != kFree ? 1 : 0;
  if (!options_.shifts || Has(Bug::kShiftNotRecovered)) return;
  // The cut came between an item's new slot and its old one: the old one becomes the tombstone.
  for (uint64_t slot = 0; slot < slots(); ++slot) {
    if (StateOf(slot) == kFull && Find(KeyOf(slot)) != slot) SetState(slot, kErased);
  }
  for (uint64_t slot = 0; slot < slots(); ++slot) {
    if (StateOf(slot) == kErased) Close(slot);
  }
}

}  // namespace powercut::linear
