// Searches (clht_get). Searches take no lock.
#include <cstring>

#include "targets/pclht/table.h"

namespace powercut::pclht {

powercut_status Table::Lookup(const uint8_t* key_bytes, uint8_t* value) {
  const uint64_t key = Word(key_bytes);
  if (key == 0) {
    const SpinGuard guard(LockOf(&Threads::zero_lock));
    if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
    std::memcpy(value, &root()->zero_value, sizeof(uint64_t));
    return POWERCUT_OK;
  }
  if (!options_.concurrent) {
    const Entry entry = Find(key, Home(key));
    if (!entry.found()) return POWERCUT_NOT_FOUND;
    std::memcpy(value, entry.value(), sizeof(uint64_t));
    return POWERCUT_OK;
  }
  const Stay stay(threads_.get());
  Bucket* home = HomeIn(stay, key);
  uint64_t found = 0;
  if (!(options_.hardened ? DurableSnapshot(key, home, &found) : Snapshot(key, home, &found))) {
    return POWERCUT_NOT_FOUND;
  }
  std::memcpy(value, &found, sizeof found);
  return POWERCUT_OK;
}

Table::Entry Table::Find(uint64_t key, Bucket* home) const {
  for (Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (pmem::atomic_load(&bucket->key[i]) == key) return {bucket, i};
    }
  }
  return {};
}

// ASPLOS'15: the value, the key, the value again. The value may not be durable yet. It may also belong to another key,
// if that key's value was equal before and after.
bool Table::Snapshot(uint64_t key, Bucket* home, uint64_t* value) const {
  for (Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      for (;;) {
        *value = pmem::atomic_load(&bucket->value[i]);
        if (pmem::atomic_load(&bucket->key[i]) != key) break;
        if (pmem::atomic_load(&bucket->value[i]) == *value) return true;
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
bool Table::DurableSnapshot(uint64_t key, Bucket* home, uint64_t* value) const {
  for (;;) {
    const uint64_t before = pmem::atomic_load(&home->state);
    const Entry entry = Find(key, home);
    if (entry.found()) *value = pmem::atomic_load(entry.value());
    if (Has(Bug::kRaceNotFound) && entry.found() && pmem::atomic_load(entry.value()) != *value) return false;
    const uint64_t after = pmem::atomic_load(&home->state);
    if (entry.found() && before / kOneErasure != after / kOneErasure && !Has(Bug::kKeyReadOnce)) continue;
    if ((after & kLockMask) == kLockUpdate && !Has(Bug::kGetUnpersisted)) PersistChain(home, entry.bucket);
    return entry.found();
  }
}

// As far as a search went: to `last`, or to the end.
void Table::PersistChain(const Bucket* home, const Bucket* last) const {
  for (const Bucket* bucket = home; bucket != nullptr; bucket = bucket == last ? nullptr : Next(*bucket)) {
    pmem::flush_line(bucket);
  }
  pmem::fence();
}

}  // namespace powercut::pclht
