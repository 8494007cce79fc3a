// Format, open, and what must hold afterwards.
#include <cstdio>
#include <cstdlib>
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/patterns/map.h"

namespace powercut::patterns {
namespace {

constexpr uint64_t kMagic = 0x534e524554544150;  // "PATTERNS"

}  // namespace

powercut_status Map::Format(powercut_pool pool, const Options& options) {
  Map map(pool, options);
  if (!map.allocator_.Contains(map.allocator_.first(), 64)) return POWERCUT_FULL;
  if (map.Follows(Pattern::kChecked) && !map.Has(Bug::kTrustsZeroes)) {
    std::memset(pool.base, 0, map.allocator_.first());
    pmem::persist(pool.base, map.allocator_.first());
  }
  map.allocator_.Format();
  pmem::atomic_store(&map.root()->magic.value, kMagic);
  pmem::persist(&map.root()->magic.value, sizeof(uint64_t));
  return POWERCUT_OK;
}

powercut_status Map::Open(powercut_pool pool, const Options& options, Map** out) {
  Map map(pool, options);
  if (!map.allocator_.Contains(map.allocator_.first(), 64) || map.root()->magic.value != kMagic) {
    return POWERCUT_NOT_FORMATTED;
  }
  if (!map.allocator_.Matches()) return POWERCUT_CORRUPT;
  map.Recover();
  if (!map.Has(Bug::kSwallowed) && !map.Intact()) return POWERCUT_CORRUPT;
  *out = map.Has(Bug::kThrowingNew) ? new Map(map) : new (std::nothrow) Map(map);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

void Map::Recover() {
  switch (options_.pattern) {
    case Pattern::kRewrittenByRecovery: {
      DO_IF (Bug::kStructure) break;
      uint64_t count = 0;
      for (uint64_t i = 0; i < options_.capacity; ++i) count += entry(i)->state != kEmpty ? 1 : 0;
      root()->count.value = count;
      break;
    }
    case Pattern::kVolatileLock:
      SKIP_IF (Bug::kLockLeft) pmem::atomic_store(&root()->lock.value, uint64_t{0});
      break;
    case Pattern::kUndoLog:
      SKIP_IF (Bug::kTorn) ReplayLog();
      break;
    case Pattern::kIntent:
      if (root()->intent.value != 0) WithdrawIntent();
      break;
    case Pattern::kBlocks:
      SKIP_IF (Bug::kLeak) allocator_.Sweep([&](uint64_t offset) { return Owns(offset); });
      break;
    case Pattern::kPlain:
    case Pattern::kHelpingPersist:
    case Pattern::kBoundedDuplicates:
    case Pattern::kChecked:
    case Pattern::kCount:
      break;
  }
}

void Map::ReplayLog() const {
  Word* log = &root()->log_entry;
  if (log->value == 0 || log->value > options_.capacity) return;
  uint8_t* place = const_cast<uint8_t*>(Value(*entry(log->value - 1)));
  if (place == nullptr) return;
  std::memcpy(place, root()->log_value, options_.value_size);
  SKIP_IF (Bug::kNotIdempotent) pmem::persist(place, options_.value_size);
  pmem::atomic_store(&log->value, uint64_t{0});
  pmem::persist(&log->value, sizeof log->value);
  DO_IF (Bug::kNotIdempotent) pmem::persist(place, options_.value_size);
}

// An operation was under way. Every pattern of this map is atomic by itself, so there is nothing to repair.
void Map::WithdrawIntent() const {
  DO_IF (Bug::kAbort) std::abort();
  DO_IF (Bug::kSegv) {
    Entry* volatile none = nullptr;
    (void)pmem::atomic_load(&none->state);
  }
  DO_IF (Bug::kWildStore) *reinterpret_cast<volatile uint64_t*>(pool_.base + pool_.size) = 0;
  DO_IF (Bug::kHang) {
    while (pmem::atomic_load(&root()->intent.value) != 0) {
    }
  }
  pmem::atomic_store(&root()->intent.value, uint64_t{0});
  pmem::persist(&root()->intent.value, sizeof(uint64_t));
}

bool Map::Owns(uint64_t offset) const {
  for (uint64_t i = 0; i < options_.capacity; ++i) {
    if (entry(i)->state != kEmpty && entry(i)->block == offset) return true;
  }
  return false;
}

powercut_status Map::Verify(uint64_t region, char* message, size_t size) const {
  if (region != 0) {
    const uint64_t state = StateOf(entry(region - 1)->state);
    if (state <= 2) return POWERCUT_OK;
    std::snprintf(message, size, "entry %llu: state 0x%llx is none of empty, first value, second value",
                  static_cast<unsigned long long>(region - 1), static_cast<unsigned long long>(state));
    return POWERCUT_CORRUPT;
  }
  if (!Follows(Pattern::kRewrittenByRecovery)) return POWERCUT_OK;
  uint64_t count = 0;
  for (uint64_t i = 0; i < options_.capacity; ++i) count += entry(i)->state != kEmpty ? 1 : 0;
  if (count == root()->count.value) return POWERCUT_OK;
  std::snprintf(message, size, "the counter says %llu items, there are %llu",
                static_cast<unsigned long long>(root()->count.value), static_cast<unsigned long long>(count));
  return POWERCUT_CORRUPT;
}

}  // namespace powercut::patterns
