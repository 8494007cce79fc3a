// Format, open, close. Open does not look into buckets: it reads the root, the directory's first entry and the
// header of every segment, and raises the version unless the table was closed.
#include <new>

#include "targets/common/planted_bugs.h"
#include "targets/dash/table.h"

namespace powercut::dash {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  table.allocator_.Format();
  const uint64_t count = uint64_t{1} << options.depth;
  const uint64_t directory = table.allocator_.Allocate(count * sizeof(uint64_t));
  if (directory == 0) return POWERCUT_FULL;
  Root* root = table.root();
  root->version = 1;
  root->clean = 1;
  root->geometry = table.geometry();
  root->directory = directory | options.depth;
  // The pool is zeroed, as the traits demand: the buckets are empty as they are. Each segment links its right
  // neighbour, so the last one is made first.
  uint64_t right = 0;
  for (uint64_t i = count; i-- > 0;) {
    const uint64_t block = table.allocator_.Allocate(table.segment_bytes());
    if (block == 0) return POWERCUT_FULL;
    table.WriteSegment(table.SegmentAt(block), {options.depth, i}, right, kNormal);
    table.entries()[i] = block;
    right = block;
  }
  pmem::flush(table.entries(), count * sizeof(uint64_t));
  pmem::flush(&root->clean, sizeof root->clean);
  pmem::flush(root, pmem::kLine);
  pmem::fence();
  StoreField(&root->magic, kMagic);
  return POWERCUT_OK;
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  if (pool.size < sizeof(Root) + kUnit) return POWERCUT_NOT_FORMATTED;
  auto* table = new (std::nothrow) Table(pool, options);
  if (table == nullptr) return POWERCUT_FULL;
  powercut_status status = table->FindSegments();
  if (status == POWERCUT_OK) status = table->RaiseVersion();
  // The version comes first: the sweep shall not believe what a crash has left of a segment.
  if (status == POWERCUT_OK && table->Sweeps() && !table->Has(Bug::kLeakNewSegment) &&
      !table->allocator_.Sweep([&](uint64_t offset) { return table->Reaches(offset); })) {
    status = POWERCUT_CORRUPT;
  }
  if (status == POWERCUT_OK && options.eager) {
    for (uint64_t i = 0; i < table->segments_.size() && status == POWERCUT_OK; ++i) {
      Segment* segment = table->SegmentAt(table->segments_.offset(i));
      if (!table->IsRecovered(segment)) status = table->Recover(segment);
    }
  }
  if (status != POWERCUT_OK) {
    delete table;
    return status;
  }
  table->open_ = true;
  *out = table;
  return POWERCUT_OK;
}

// The chain of side links holds every segment, also one whose split is not finished.
powercut_status Table::FindSegments() {
  if (root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  const uint64_t bytes = (uint64_t{1} << (global_depth() & 63)) * sizeof(uint64_t);
  if (root()->geometry != geometry() || !allocator_.Matches() || global_depth() > kMaxDepth ||
      !allocator_.Contains(directory_at(), bytes)) {
    return POWERCUT_CORRUPT;
  }
  for (uint64_t at = entries()[0]; at != 0; at = SegmentAt(at)->link) {
    if (at % kUnit != 0 || !allocator_.Contains(at, segment_bytes()) || segments_.Has(at)) return POWERCUT_CORRUPT;
    if (!segments_.Reserve()) return POWERCUT_FULL;
    segments_.Add(at);
  }
  return segments_.size() == 0 ? POWERCUT_CORRUPT : POWERCUT_OK;
}

bool Table::NamesItem(uint64_t offset) {
  if (!HoldsItem({offset, 0})) return false;
  bool named = false;
  ForEachPlace(KeyOf({offset, 0}), [&](const Place& place) {
    named = place.segment->bucket(place.bucket)->record[place.slot].key == offset;
    return named;
  });
  return named;
}

powercut_status Table::RaiseVersion() {
  if (root()->clean != 0) {
    pmem::mark("open.clean");
    pmem::atomic_store(&root()->clean, uint64_t{0});
    SKIP_IF (Bug::kCleanNotPersisted) pmem::persist(&root()->clean, sizeof root()->clean);
    return POWERCUT_OK;
  }
  RaiseVersionOf(&root()->version, [this](const auto& visit) {
    for (uint64_t i = 0; i < segments_.size(); ++i) visit(SegmentAt(segments_.offset(i)));
  });
  return POWERCUT_OK;
}

Table::~Table() {
  if (!open_) return;
  if (options_.hardened && !Has(Bug::kCloseWithoutWriteback)) WriteBackTouched();
  StoreField(&root()->clean, 1);
}

}  // namespace powercut::dash
