// Format and open. Open is the recovery: it replays the undo log, frees unreached blocks, and finishes a rehash. Every
// step may be repeated without effect, so a cut inside open only repeats the steps. Open reads the chains of the stash,
// to tell its nodes from unreached blocks. Open reads buckets only to finish a rehash that a cut has left.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {
namespace {

constexpr uint64_t kMagic = 0x3154484650435750;  // "PWCPFHT1"

}  // namespace

uint64_t Table::GeometryWord() const {
  return uint64_t{options_.key_size} | uint64_t{options_.value_size} << 8 | uint64_t{options_.slots} << 16 |
         uint64_t{options_.stash} << 24 | uint64_t{options_.resize == Resize::kRehash} << 32;
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  if (pool.size < sizeof(TokenRoot) + kUnit) return POWERCUT_FULL;
  Table table(pool, options);
  table.allocator_.Format();
  // The pool is zeroed, as the traits demand: every bucket and chain is durably empty, and no undo log is valid.
  const uint64_t bytes = Shape(options.buckets_log2, table.bucket_, options).bytes;
  const uint64_t offset = table.allocator_.Allocate(table.BlockBytes(bytes));
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
  const powercut_status attached = opening.Attach();
  if (attached != POWERCUT_OK) return attached;
  // The log first: if damage made it valid, what it overwrites is still looked at.
  opening.ReplayLog();
  const powercut_status swept = opening.SweepUnreached();
  if (swept != POWERCUT_OK) return swept;
  if (opening.older_.count > 0) {
    pmem::mark("recover.rehash");
    // FULL leaves the older tables attached; all operations but insert treat them like the first one.
    (void)opening.FinishRehash(/*recovering=*/true);
  }
  *out = new (std::nothrow) Table(opening);
  return *out == nullptr ? POWERCUT_FULL : POWERCUT_OK;
}

powercut_status Table::Attach() {
  const auto attach = [this](int i, uint32_t log2, uint8_t* base) {
    Body& body = i == 0 ? body_ : older_.table[older_.count++];
    body = {.shape = Shape(log2, bucket_, options_), .base = base};
    return body.shape.bytes;
  };
  const powercut_status status = AttachTables(kLogs, 1 + OlderTables<Body>::kMost, attach);
  DO_IF (Bug::kRehashNotFinished) older_.count = 0;
  return status;
}

// Also counts the stash. CORRUPT: a chain leaves the pool or has no end.
powercut_status Table::SweepUnreached() {
  // Every node costs a unit; a longer chain runs in a circle.
  uint64_t* reached = nullptr;
  uint64_t capacity = 0, nodes = 0;
  bool sound = true, memory = true;
  const auto gather = [&](const Body& body) {
    for (uint64_t chain = 0; chain < body.shape.chains && sound && memory; ++chain) {
      for (uint64_t offset = *Head(body, chain); offset != 0; offset = NodeAt(offset)->next) {
        sound = allocator_.Contains(offset, sizeof(StashNode)) && nodes < pool_.size / kUnit;
        if (!sound) break;
        if (nodes == capacity) {
          capacity = capacity == 0 ? 64 : 2 * capacity;
          auto* larger = static_cast<uint64_t*>(std::realloc(reached, capacity * sizeof(uint64_t)));
          memory = larger != nullptr;
          if (!memory) break;
          reached = larger;
        }
        reached[nodes++] = offset;
      }
    }
  };
  gather(body_);
  body_.stash_items = nodes;
  std::for_each(older_.begin(), older_.end(), gather);
  if (sound && memory && !Has(Bug::kLeakNewTable)) {
    std::sort(reached, reached + nodes);
    sound = allocator_.Sweep(
        [&](uint64_t offset) { return IsTable(offset) || std::binary_search(reached, reached + nodes, offset); });
  }
  std::free(reached);
  return !memory ? POWERCUT_FULL : sound ? POWERCUT_OK : POWERCUT_CORRUPT;
}

bool Table::IsTable(uint64_t offset) const {
  return offset == OffsetOf(body_.base) ||
         std::any_of(older_.begin(), older_.end(), [&](const Body& older) { return offset == OffsetOf(older.base); });
}

bool Table::Reaches(uint64_t offset) const {
  if (IsTable(offset)) return true;
  const auto in_stash = [&](const Body& body) {
    for (uint64_t chain = 0; chain < body.shape.chains; ++chain) {
      if (ForEachInChain(body, chain, [&](const Place& place) { return *place.link == offset; })) return true;
    }
    return false;
  };
  return in_stash(body_) || std::any_of(older_.begin(), older_.end(), in_stash);
}

}  // namespace powercut::pfht
