// Expansion: steps 1 to 3 of a resize (3.1.2).
#include "targets/clevel/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::clevel {

powercut_status Table::MaintainIn(Thread* thread, const char* command) {
  ResumePublication();
  Load(thread);
  if (std::strcmp(command, "expand") == 0) return Expand(thread);
  if (std::strcmp(command, "rehash") != 0) return POWERCUT_UNSUPPORTED;
  ShareView(worker_, &rehasher_);
  const powercut_status status = RehashBucket(&rehasher_, 0);
  ShareView(rehasher_, &worker_);
  return status;
}

powercut_status Table::Expand(Thread* thread, bool paused) {
  const View& view = thread->view;
  if (view.count == kMaxLevels) return POWERCUT_FULL;
  const uint64_t buckets = 2 * view.first().buckets();  // of the new level
  uint64_t* up = &view.first().header->up;
  uint64_t next = pmem::atomic_load(up);
  if (next != 0) {
    // Somebody has appended a level, and either goes on with step 3 or was cut before it: "continue with the next
    // step".
    pmem::mark("expand.helped");
    pmem::persist(up, sizeof *up);
    DO_IF (Bug::kExpandWithoutHelp) next = view.first().offset;
  } else {
    next = AppendLevel(*thread, view);
    if (next == 0) return POWERCUT_FULL;
    pmem::mark("expand.appended");
  }
  for (;;) {
    const Published published = Publish(thread, {next, view.last().offset, 1}, /*old_level=*/0, paused);
    if (published == Published::kNoRoom) return POWERCUT_FULL;
    if (published == Published::kYes) break;
    Load(thread);
    // "Check if the new first level's capacity is no smaller than L_new and is_resizing is true: if so, continue."
    // If other threads have done the whole resize, the paper's order would mark two finished levels as being resized.
    if (view.first().buckets() >= buckets) {
      if (view.is_resizing || (options_.hardened && !Has(Bug::kExpandOvertaken))) return POWERCUT_OK;
      pmem::mark("expand.overtaken");
      next = view.first().offset;
    }
  }
  DO_IF (Bug::kLevelUninitialised) InitialiseSlots(next);
  pmem::mark("expand.done");
  return POWERCUT_OK;
}

uint64_t Table::AppendLevel(const Thread& thread, const View& view) {
  LevelHeader* below = view.first().header;
  uint64_t* owner = &buffer(thread).level;
  const uint64_t offset = allocator_.AllocateInto(owner, LevelBytes(below->log2 + 1), ArenaOf(thread));
  if (offset == 0) return 0;
  auto* header = At<LevelHeader>(offset);
  header->up = 0;
  header->log2 = below->log2 + 1;
  pmem::flush(header, sizeof *header);
  SKIP_IF (Bug::kLevelUninitialised) InitialiseSlots(offset);
  pmem::fence();
  uint64_t other = Has(Bug::kLevelAppendedBlindly) ? pmem::atomic_load(&below->up) : 0;
  const bool is_appended =
      __atomic_compare_exchange_n(&below->up, &other, offset, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  pmem::persist(&below->up, sizeof below->up);
  if (!is_appended) allocator_.Free(offset, ArenaOf(thread));
  if (!options_.concurrent) {
    pmem::atomic_store(owner, uint64_t{0});
    pmem::persist(owner, sizeof *owner);
  }
  return is_appended ? offset : other;
}

// The block may have been something else before. Written back at the next fence.
void Table::InitialiseSlots(uint64_t level) const {
  auto* header = At<LevelHeader>(level);
  const uint64_t bytes = LevelBytes(header->log2) - sizeof *header;
  std::memset(header + 1, 0, bytes);
  pmem::flush(header + 1, bytes);
}

}  // namespace powercut::clevel
