// Searches (clht_get). Searches take no lock.
#include "targets/pclht/table.h"

namespace powercut::pclht {

powercut_status Table::Lookup(Bytes key_bytes, ValueRoom* value) {
  const Item key = entries_.ItemOf(key_bytes);
  if (entries_.IsZero(key)) {
    const SpinGuard guard(LockOf(&Threads::zero_lock));
    if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
    value->Put(ZeroValue());
    return POWERCUT_OK;
  }
  if (!options_.concurrent) {
    const Entry entry = Find(key, Home(key.hash));
    Words words;
    const bool found = entry.found() && entries_.ReadValue(entry.bucket, entry.index, &words);
    return found && entries_.PutValue(words, value) ? POWERCUT_OK : POWERCUT_NOT_FOUND;
  }
  Stay stay(threads_.get());
  const bool found =
      options_.hardened ? DurableSnapshot(key, &stay, value) : Snapshot(key, HomeIn(stay, key.hash), value);
  return found ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

Entry Table::Find(const Item& key, Bucket* home) const {
  for (Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (entries_.Look(bucket, i, key) == Entries::Seen::kKey) return entries_.At(bucket, i);
    }
  }
  return {};
}

// ASPLOS'15: the value, the key, the value again. The value may not be durable yet. It may also belong to another key,
// if that key's value was equal before and after. A value of two words may be torn, and that of a pointer freed.
bool Table::Snapshot(const Item& key, Bucket* home, ValueRoom* value) const {
  for (Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      Words words, again;
      while (entries_.ReadValue(bucket, i, &words) && entries_.Look(bucket, i, key) == Entries::Seen::kKey) {
        if (entries_.ReadValue(bucket, i, &again) && again == words) return entries_.PutValue(words, value);
      }
    }
  }
  return false;
}

// The key, the value, and the lock's word again. An entry is used for another key only after an erase, which counts
// itself when it unlocks: with the same number, the value is that of the key. The words that were read are durable if
// the lock is not held for a change, since every earlier holder has flushed its stores. If the lock is held for a
// change, the search flushes. The search also flushes for a key that was not found: the erase of the key must not come
// undone.
bool Table::DurableSnapshot(const Item& key, Stay* stay, ValueRoom* value) const {
  for (;;) {
    Bucket* home = HomeIn(*stay, key.hash);
    const uint64_t before = pmem::atomic_load(&home->state);
    const Entry entry = Find(key, home);
    Words words{};
    const bool read = entry.found() && entries_.ReadValue(entry.bucket, entry.index, &words);
    if (Has(Bug::kRaceNotFound) && read && pmem::atomic_load(entry.value()) != words[0]) return false;
    const bool found = read && entries_.PutValue(words, value);
    __atomic_signal_fence(__ATOMIC_ACQUIRE);  // the item's bytes are read before the number is
    const uint64_t after = pmem::atomic_load(&home->state);
    if (HasChanged(entry.found(), before, after, *stay)) {
      stay->Renew();
      continue;
    }
    if ((after & kLockMask) == kLockUpdate && !Has(Bug::kGetUnpersisted)) PersistChain(home, entry.bucket);
    return found;
  }
}

// Whether a search has to be repeated. An item outside of the table may be freed as soon as the number has changed, or
// in a table that was replaced: then neither the value nor a key that differs says anything.
bool Table::HasChanged(bool found, uint64_t before, uint64_t after, const Stay& stay) const {
  const bool changed = before / kOneChange != after / kOneChange && !Has(Bug::kKeyReadOnce);
  if (!entries_.has_pointers()) return found && changed;
  return changed || (threads_->newest() != stay.version() && !Has(Bug::kOldTableTrusted));
}

// As far as a search went: to `last`, or to the end.
void Table::PersistChain(const Bucket* home, const Bucket* last) const {
  for (const Bucket* bucket = home; bucket != nullptr; bucket = bucket == last ? nullptr : Next(*bucket)) {
    pmem::flush_line(bucket);
  }
  pmem::fence();
}

}  // namespace powercut::pclht
