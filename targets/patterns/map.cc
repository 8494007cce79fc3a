// The operations, with the variations of each pattern.
#include "targets/patterns/map.h"

#include "targets/common/planted_bugs.h"

namespace powercut::patterns {

powercut_status Map::Insert(const uint8_t* key, const uint8_t* value) {
  Begin();
  const powercut_status status = InsertEntry(key, value);
  End();
  return status;
}

powercut_status Map::Update(const uint8_t* key, const uint8_t* value) {
  Begin();
  const powercut_status status = UpdateEntry(key, value);
  End();
  return status;
}

powercut_status Map::Erase(const uint8_t* key) {
  Begin();
  const powercut_status status = EraseEntry(key);
  End();
  return status;
}

const uint8_t* Map::Lookup(const uint8_t* key) {
  Entry* entry = Find(key);
  return entry == nullptr ? nullptr : Value(*entry);
}

powercut_status Map::InsertEntry(const uint8_t* key, const uint8_t* value) {
  Entry* entry = nullptr;
  for (uint64_t i = 0; i < options_.capacity && entry == nullptr; ++i) {
    if (this->entry(i)->state == kEmpty) entry = this->entry(i);
  }
  if (entry == nullptr) return POWERCUT_FULL;
  if (Follows(Pattern::kBlocks)) {
    entry->block = allocator_.Allocate(64);
    if (entry->block == 0) return POWERCUT_FULL;
  }
  std::memcpy(entry->key, key, options_.key_size);
  std::memcpy(entry->value[0], value, options_.value_size);
  pmem::flush_line(entry);
  pmem::persist(entry->value[0], options_.value_size);
  DO_IF (Bug::kRedundantFlush) pmem::persist(entry->value[0], options_.value_size);
  DO_IF (Bug::kRedundantFence) pmem::fence();
  SetState(entry, 1, !Has(Bug::kLost));
  Count(1);
  return POWERCUT_OK;
}

powercut_status Map::UpdateEntry(const uint8_t* key, const uint8_t* value) {
  Entry* entry = Find(key);
  if (entry == nullptr) return POWERCUT_NOT_FOUND;
  for (Entry* other = FindFrom(static_cast<uint64_t>(entry - this->entry(0)) + 1, key); other != nullptr;
       other = FindFrom(static_cast<uint64_t>(entry - this->entry(0)) + 1, key)) {
    SetState(other, kEmpty, true);
  }
  if (Follows(Pattern::kUndoLog)) {
    UpdateInPlace(entry, value);
    return POWERCUT_OK;
  }
  const uint64_t next = StateOf(entry->state) == 1 ? 2 : 1;
  std::memcpy(entry->value[next - 1], value, options_.value_size);
  pmem::persist(entry->value[next - 1], options_.value_size);
  SetState(entry, next, !Has(Bug::kStale));
  return POWERCUT_OK;
}

powercut_status Map::EraseEntry(const uint8_t* key) {
  Entry* entry = Find(key);
  if (entry == nullptr) return POWERCUT_NOT_FOUND;
  for (; entry != nullptr; entry = Find(key)) {
    SetState(entry, kEmpty, !Has(Bug::kPhantom));
    Count(-1);
    if (Follows(Pattern::kBlocks)) allocator_.Free(entry->block);
    if (Follows(Pattern::kBoundedDuplicates) && Find(key) == nullptr) {
      FillHole(entry);
      break;
    }
  }
  return POWERCUT_OK;
}

Entry* Map::Find(const uint8_t* key) const { return FindFrom(0, key); }

Entry* Map::FindFrom(uint64_t index, const uint8_t* key) const {
  for (; index < options_.capacity; ++index) {
    Entry* candidate = entry(index);
    if (!Matches(*candidate, key)) continue;
    Help(candidate);
    return candidate;
  }
  return nullptr;
}

void Map::SetState(Entry* entry, uint64_t state, bool durable) const {
  if (Follows(Pattern::kHelpingPersist) && durable) {
    pmem::atomic_store(&entry->state, state | kDirty);
    Help(entry);
    return;
  }
  if (Follows(Pattern::kChecked) && state != kEmpty) state |= Checksum(*entry, state);
  pmem::atomic_store(&entry->state, state);
  if (durable) pmem::persist(&entry->state, sizeof entry->state);
}

// Pattern checked: the state word carries a checksum of what it makes count, so that both change in one store. FNV-1a
// (Fowler, Noll, Vo) of key, value and state; the lowest bit above the state is always set, so that no single flipped
// bit makes an entry look empty.
uint64_t Map::Checksum(const Entry& entry, uint64_t state) const {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (uint32_t i = 0; i < options_.key_size; ++i) add(entry.key[i]);
  for (uint32_t i = 0; i < options_.value_size; ++i) add(entry.value[(state - 1) & 1][i]);
  add(static_cast<uint8_t>(state));
  return (hash | 1) << 8;
}

bool Map::Intact() const {
  if (!Follows(Pattern::kChecked) || Has(Bug::kUnchecked)) return true;
  for (uint64_t i = 0; i < options_.capacity; ++i) {
    const Entry& entry = *this->entry(i);
    const uint64_t word = entry.state;
    if (word == kEmpty) continue;
    const uint64_t state = word & 0xff;
    if (state < 1 || state > 2 || word != (state | Checksum(entry, state))) return false;
  }
  return true;
}

// Pattern helping_persist: what is read here may not be durable yet. It is made durable before anyone acts on it.
// Taking the mark away again need not be durable: a reader that sees the mark once more only helps once more.
void Map::Help(Entry* entry) const {
  if (!Follows(Pattern::kHelpingPersist)) return;
  const uint64_t state = pmem::atomic_load(&entry->state);
  if ((state & kDirty) == 0) return;
  pmem::mark("patterns.help");
  pmem::persist(&entry->state, sizeof entry->state);
  pmem::atomic_store(&entry->state, state & ~kDirty);
}

void Map::UpdateInPlace(Entry* entry, const uint8_t* value) const {
  uint8_t* place = const_cast<uint8_t*>(Value(*entry));
  std::memcpy(root()->log_value, place, options_.value_size);
  pmem::persist(root()->log_value, options_.value_size);
  Word* log = &root()->log_entry;
  pmem::atomic_store(&log->value, static_cast<uint64_t>(entry - this->entry(0)) + 1);
  pmem::persist(&log->value, sizeof log->value);
  std::memcpy(place, value, options_.value_size);
  pmem::persist(place, options_.value_size);
  pmem::atomic_store(&log->value, uint64_t{0});
  pmem::persist(&log->value, sizeof log->value);
}

// Pattern bounded_duplicates: the last item moves into the hole; copy, set, clear.
void Map::FillHole(Entry* hole) const {
  for (Entry* last = entry(options_.capacity - 1); last > hole; --last) {
    if (last->state == kEmpty) continue;
    if (Find(last->key) != last) {  // an earlier cut left a copy: a second move would make three
      SetState(last, kEmpty, true);
      return;
    }
    std::memcpy(hole->key, last->key, options_.key_size);
    std::memcpy(hole->value[0], Value(*last), options_.value_size);
    pmem::flush_line(hole);
    pmem::persist(hole->value[0], options_.value_size);
    SetState(hole, 1, true);
    pmem::mark("patterns.copied");
    SetState(last, kEmpty, true);
    return;
  }
}

// Pattern rewritten_by_recovery: never flushed, since open counts again whatever it finds.
void Map::Count(int64_t change) const {
  if (Follows(Pattern::kRewrittenByRecovery)) root()->count.value += static_cast<uint64_t>(change);
}

void Map::Begin() {
  if (next_note_ < options_.unflushed) note(next_note_)->value = uint64_t{next_note_} + 1, ++next_note_;
  if (Follows(Pattern::kVolatileLock)) {
    while (pmem::atomic_load(&root()->lock.value) != 0) {
    }
    pmem::atomic_store(&root()->lock.value, uint64_t{1});
  }
  if (Follows(Pattern::kIntent)) {
    pmem::atomic_store(&root()->intent.value, uint64_t{1});
    pmem::persist(&root()->intent.value, sizeof(uint64_t));
  }
  DO_IF (Bug::kNeverPersisted) ++root()->statistics.value;
}

void Map::End() const {
  if (Follows(Pattern::kVolatileLock)) pmem::atomic_store(&root()->lock.value, uint64_t{0});
  if (Follows(Pattern::kIntent)) {
    pmem::atomic_store(&root()->intent.value, uint64_t{0});
    pmem::persist(&root()->intent.value, sizeof(uint64_t));
  }
}

}  // namespace powercut::patterns
