// Format and open. Open is the recovery: it replays the undo log and frees unreached blocks. Both steps may be repeated
// without effect, so a cut inside open only repeats the steps. Open reads the chains of the stash, to tell its nodes
// from unreached blocks, and no bucket.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "targets/pfht/table.h"

namespace powercut::pfht {
namespace {

constexpr uint64_t kMagic = 0x3154484650435750;  // "PWCPFHT1"

}  // namespace

uint64_t Table::GeometryWord() const {
  return uint64_t{options_.key_size} | uint64_t{options_.value_size} << 8 | uint64_t{options_.slots} << 16 |
         uint64_t{options_.stash} << 24;
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(TokenRoot) + kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: every bucket and chain is durably empty, and no undo log is valid.
  const uint64_t offset = table.allocator_.Allocate(Shape(options.buckets_log2, table.bucket_, options).bytes);
  if (offset == 0) return POWERCUT_FULL;
  table.NameTable(offset, options.buckets_log2);
  table.WriteHeader(kMagic, table.GeometryWord());
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(TokenRoot) + kUnit) return POWERCUT_NOT_FORMATTED;
  Table opening(pool, options);
  const powercut_status status = opening.CheckHeader(kMagic, opening.GeometryWord());
  if (status != POWERCUT_OK) return status;
  const uint32_t log2 = opening.TableLog2();
  if (log2 < 1 || log2 >= kLogs) return POWERCUT_CORRUPT;
  Body& body = opening.body_;
  body.shape = Shape(log2, opening.bucket_, options);
  if (!opening.allocator_.Contains(opening.TableOffset(), body.shape.bytes)) return POWERCUT_CORRUPT;
  body.base = pool.base + opening.TableOffset();
  // The log first: if damage made it valid, what it overwrites is still looked at.
  opening.ReplayLog();
  const powercut_status swept = opening.SweepUnreached();
  if (swept != POWERCUT_OK) return swept;
  *out = new (std::nothrow) Table(opening);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

// Also counts the stash. CORRUPT: a chain leaves the pool or has no end.
powercut_status Table::SweepUnreached() {
  // Every node costs a unit; a longer chain runs in a circle.
  uint64_t* reached = nullptr;
  uint64_t capacity = 0;
  bool sound = true, memory = true;
  for (uint64_t chain = 0; chain < body_.shape.chains && sound && memory; ++chain) {
    for (uint64_t offset = *Head(body_, chain); offset != 0; offset = NodeAt(offset)->next) {
      sound = allocator_.Contains(offset, sizeof(StashNode)) && body_.stash_items < pool_.size / kUnit;
      if (!sound) break;
      if (body_.stash_items == capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        auto* larger = static_cast<uint64_t*>(std::realloc(reached, capacity * sizeof(uint64_t)));
        memory = larger != nullptr;
        if (!memory) break;
        reached = larger;
      }
      reached[body_.stash_items++] = offset;
    }
  }
  if (sound && memory && !Has(Bug::kLeakNewTable)) {
    std::sort(reached, reached + body_.stash_items);
    sound = allocator_.Sweep([&](uint64_t offset) {
      return offset == OffsetOf(body_.base) || std::binary_search(reached, reached + body_.stash_items, offset);
    });
  }
  std::free(reached);
  return !memory ? POWERCUT_FULL : sound ? POWERCUT_OK : POWERCUT_CORRUPT;
}

bool Table::Reaches(uint64_t offset) const {
  if (offset == OffsetOf(body_.base)) return true;
  for (uint64_t chain = 0; chain < body_.shape.chains; ++chain) {
    if (ForEachInChain(body_, chain, [&](const Place& place) { return *place.link == offset; })) return true;
  }
  return false;
}

}  // namespace powercut::pfht
