// The map's operations, and the clock.
#include "targets/montage/table.h"

#include <string_view>
#include <utility>

#include "targets/common/hash.h"
#include "targets/common/planted_bugs.h"

namespace powercut::montage {

// The bucket's last holder belongs to this epoch or an earlier epoch: no payload in the bucket is newer.
Table::Operation::Operation(Table* table, Bytes key)
    : bucket(table->BucketOf(key)), table_(table), guard_(&table->locks_[bucket]) {
  epoch = table->JoinEpoch();
}

Table::Operation::~Operation() {
  table_->LeaveEpoch(epoch);
  guard_.Unlock();
}

// The clock may have moved on before the operation was counted, and nobody would wait for it.
uint64_t Table::JoinEpoch() {
  for (;;) {
    const uint64_t epoch = pmem::atomic_load(&root()->clock);
    __atomic_fetch_add(&active_[epoch % kEpochs], 1, __ATOMIC_SEQ_CST);
    if (Has(Bug::kClockUnchecked) || pmem::atomic_load(&root()->clock) == epoch) return epoch;
    LeaveEpoch(epoch);
  }
}

void Table::LeaveEpoch(uint64_t epoch) { __atomic_fetch_sub(&active_[epoch % kEpochs], 1, __ATOMIC_SEQ_CST); }

uint64_t Table::BucketOf(Bytes key) { return HashKey(key.data, key.size) % kBuckets; }

uint32_t Table::Find(uint64_t bucket, Bytes key) const {
  uint32_t at = heads_[bucket];
  while (at != kNone && !(At(at)->item.key() == key)) at = next_[at];
  return at;
}

powercut_status Table::Insert(Bytes key, Bytes value) { return Change(Kind::kErased, Kind::kItem, key, value); }

powercut_status Table::Update(Bytes key, Bytes value) { return Change(Kind::kItem, Kind::kItem, key, value); }

powercut_status Table::Erase(Bytes key) { return Change(Kind::kItem, Kind::kErased, key, {}); }

// A lookup changes nothing, and needs no epoch: every later operation belongs to the present epoch or a later epoch.
powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  const uint64_t bucket = BucketOf(key);
  const SpinGuard guard(&locks_[bucket]);
  const uint32_t at = Find(bucket, key);
  if (at == kNone || At(at)->kind != Kind::kItem) return POWERCUT_NOT_FOUND;
  value->Put(At(at)->item.value());
  return POWERCUT_OK;
}

bool Table::Reaches(uint64_t offset) const {
  bool is_reached = false;
  ForEachItem([&](const Payload& item) { return is_reached = OffsetOf(item) == offset; });
  return is_reached;
}

// A key without a payload is as one that is erased. The operation ends before it is counted: Advance may wait for it.
powercut_status Table::Change(Kind from, Kind to, Bytes key, Bytes value) {
  powercut_status status;
  {
    const Operation operation(this, key);
    const uint32_t old = Find(operation.bucket, key);
    const Kind present = old == kNone ? Kind::kErased : At(old)->kind;
    if (present != from) return present == Kind::kItem ? POWERCUT_EXISTS : POWERCUT_NOT_FOUND;
    status = Cover(operation, old, from, to, key, value);
  }
  if (status == POWERCUT_OK) Count();
  return status;
}

powercut_status Table::Cover(const Operation& operation, uint32_t old, Kind from, Kind to, Bytes key, Bytes value) {
  const bool in_place = old != kNone && (At(old)->epoch == operation.epoch || Has(Bug::kUpdateInPlace));
  uint32_t block = old;
  if (!Reserve(from, to, in_place ? nullptr : &block)) return POWERCUT_FULL;
  if (block != old && old != kNone) Unlink(operation.bucket, old);
  Write(At(block), operation.epoch, to, key, value);
  if (block != old) Link(operation.bucket, block);
  const SpinGuard guard(&logs_lock_);
  Log& log = logs_[operation.epoch % kEpochs];
  log.written.push_back(block);
  if (old != kNone && old != block) log.covered.push_back(old);
  if (to == Kind::kErased) log.erased.push_back(block);
  return POWERCUT_OK;
}

// There is a free block for each item, so that it can be erased.
bool Table::Reserve(Kind from, Kind to, uint32_t* block) {
  const SpinGuard guard(&logs_lock_);
  const uint64_t items = items_ + (to == Kind::kItem ? 1 : 0) - (from == Kind::kItem ? 1 : 0);
  if (to == Kind::kItem && free_.size() < items + (block != nullptr ? 1 : 0)) return false;
  items_ = items;
  if (block == nullptr) return true;
  *block = free_.back();
  free_.pop_back();
  return true;
}

// A power cut within: the epoch is one that open discards, or still none.
void Table::Write(Payload* payload, uint64_t epoch, Kind kind, Bytes key, Bytes value) {
  payload->kind = kind;
  payload->item = {key.size, value.size};
  uint8_t* end = key.CopyTo(payload->item.data());
  if (kind == Kind::kItem) value.CopyTo(end);
  pmem::atomic_store(&payload->epoch, epoch);
}

void Table::FlushPayload(const Payload* payload) const {
  pmem::flush(payload, Has(Bug::kOneLineFlushed) ? pmem::kLine : payload->bytes());
}

void Table::Link(uint64_t bucket, uint32_t block) { next_[block] = std::exchange(heads_[bucket], block); }

void Table::Unlink(uint64_t bucket, uint32_t block) {
  uint32_t* at = &heads_[bucket];
  while (*at != block) at = &next_[*at];
  *at = next_[block];
}

void Table::Drop(const std::vector<uint32_t>& blocks) {
  if (blocks.empty()) return;
  for (const uint32_t block : blocks) {
    pmem::atomic_store(&At(block)->epoch, uint64_t{0});
    pmem::flush_line(At(block));
  }
  pmem::fence();
  const SpinGuard guard(&logs_lock_);
  free_.insert(free_.end(), blocks.begin(), blocks.end());
}

powercut_status Table::Maintain(const char* command) {
  if (std::string_view(command) == "sync") Advance();
  Advance();
  return POWERCUT_OK;
}

void Table::Count() {
  if (options_.every == 0) return;
  if (__atomic_add_fetch(&changes_, 1, __ATOMIC_SEQ_CST) % options_.every == 0) Advance();
}

void Table::MoveClock(uint64_t epoch) {
  pmem::atomic_store(&root()->clock, epoch);
  pmem::persist(&root()->clock, sizeof(uint64_t));
}

void Table::Advance() {
  const SpinGuard guard(&advance_lock_);
  const uint64_t epoch = pmem::atomic_load(&root()->clock), ends = epoch - 1;
  while (!Has(Bug::kAdvanceNoWait) && pmem::atomic_load(&active_[ends % kEpochs]) != 0) pmem::pause();
  Log log;
  {
    const SpinGuard logs(&logs_lock_);
    std::swap(log, logs_[ends % kEpochs]);
  }
  DO_IF (Bug::kClockEarly) MoveClock(epoch + 1);
  for (const uint32_t block : log.written) {
    SKIP_IF (Bug::kFlushSkipped) FlushPayload(At(block));
  }
  pmem::fence();
  pmem::mark("advance.written_back");
  SKIP_IF (Bug::kClockEarly) MoveClock(epoch + 1);
  pmem::mark("advance.moved");
  // The written payloads survive, so the payloads that they cover may be dropped. Once the covered payloads are durably
  // dropped, the `erased` payloads have nothing left to cover.
  std::vector<uint32_t> erased;
  for (const uint32_t block : log.erased) {
    const Bytes key = At(block)->item.key();
    const uint64_t bucket = BucketOf(key);
    const SpinGuard lock(&locks_[bucket]);
    // It may have become an item again, or be covered by one, in the present epoch.
    if (At(block)->epoch != ends || At(block)->kind != Kind::kErased || Find(bucket, key) != block) continue;
    Unlink(bucket, block);
    erased.push_back(block);
  }
  DO_IF (Bug::kTombEarly) std::swap(erased, log.covered);
  Drop(log.covered);
  Drop(erased);
}

}  // namespace powercut::montage
