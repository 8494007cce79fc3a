// Format, open, close. Open does not look into buckets, but for the chains: it reads the root, the directory and the
// header of every segment, and raises the version unless the table was closed.
#include <new>

#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  Table table(pool, options);
  table.allocator_.Format();
  const uint64_t array = table.allocator_.Allocate(options.base * table.segment_bytes());
  if (array == 0) return POWERCUT_FULL;
  Root* root = table.root();
  // The pool is zeroed, as the traits demand: the buckets are empty as they are.
  for (uint32_t i = 0; i < options.base; ++i) {
    Segment* segment = table.SegmentAt(array + i * table.segment_bytes());
    segment->state = kNormal;
    segment->version = 1;
    pmem::flush_line(segment);
  }
  root->version = 1;
  root->clean = 1;
  root->geometry = table.geometry();
  root->round = Round{static_cast<uint32_t>(std::countr_zero(options.base)), 0}.Encode();
  root->array[0] = array;
  pmem::flush(&root->array[0], sizeof root->array[0]);
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
  if (status == POWERCUT_OK && table->Sweeps() && !table->Has(Bug::kLeakUnreached) &&
      !table->allocator_.Sweep([&](uint64_t offset) { return table->Reaches(offset); })) {
    status = POWERCUT_CORRUPT;
  }
  for (uint64_t i = 0; options.eager && status == POWERCUT_OK && i < table->segment_count(); ++i) {
    const Segment* segment = table->SegmentOf(i);
    if (segment->state != kAbsent && !table->IsRecovered(segment)) status = table->Recover(i);
  }
  if (status != POWERCUT_OK) {
    delete table;
    return status;
  }
  table->open_ = true;
  *out = table;
  return POWERCUT_OK;
}

powercut_status Table::FindSegments() {
  if (root()->magic != kMagic) return POWERCUT_NOT_FORMATTED;
  if (root()->geometry != geometry() || !allocator_.Matches() || round().level > 31) return POWERCUT_CORRUPT;
  const uint32_t last = SeatOf(round().count() - 1).array;
  for (uint32_t array = 0; array < kArrays; ++array) {
    const uint64_t at = root()->array[array];
    if (at == 0 || (at == kReserved && !options_.hardened)) {
      if (array <= last) return POWERCUT_CORRUPT;
      continue;
    }
    if (at % kUnit != 0 || !allocator_.Contains(at, ArraySize(array) * segment_bytes())) return POWERCUT_CORRUPT;
    for (uint64_t i = 0; i < ArraySize(array); ++i) {
      if (!segments_.Reserve()) return POWERCUT_FULL;
      segments_.Add(at + i * segment_bytes());
    }
  }
  return POWERCUT_OK;
}

bool Table::Reaches(uint64_t offset) {
  for (uint32_t array = 0; array < kArrays; ++array) {
    if (root()->array[array] == offset) return true;
  }
  bool found = false;
  for (uint64_t i = 0; i < segment_count() && !found; ++i) {
    Segment* segment = SegmentOf(i);
    // `published` keeps what an unfinished split has put there.
    if (options_.hardened && !Counts(segment)) continue;
    ForEachInChain(segment, [&](Bucket* bucket) {
      found = OffsetOf(bucket) == offset;
      return found;
    });
  }
  return found || (options_.pointers && NamesItem(offset));
}

bool Table::NamesItem(uint64_t offset) {
  if (!HoldsItem({offset, 0})) return false;
  bool named = false;
  ForEachCopyOf(KeyOf({offset, 0}), [&](const Spot& spot) {
    named = spot.bucket->record[spot.slot].key == offset;
    return named;
  });
  return named;
}

powercut_status Table::RaiseVersion() {
  if (root()->clean != 0) {
    pmem::mark("open.clean");
    StoreField(&root()->clean, 0);
    return POWERCUT_OK;
  }
  RaiseVersionOf(&root()->version, [this](const auto& visit) {
    for (uint64_t i = 0; i < segment_count(); ++i) visit(SegmentOf(i));
  });
  return POWERCUT_OK;
}

Table::~Table() {
  if (!open_) return;
  if (options_.hardened && !Has(Bug::kCloseWithoutWriteback)) WriteBackTouched();
  StoreField(&root()->clean, 1);
}

}  // namespace powercut::dash_lh
