// The four operations: clht_put, clht_update, clht_remove, clht_get. Each changes an item by one 8-byte store that
// bypasses the cache.
#include <emmintrin.h>

#include "targets/pclht/table.h"

namespace powercut::pclht {
namespace {

// Durable at return, and one write.
void Commit(uint64_t* word, uint64_t value) {
  pmem::nt_store(word, value);
  pmem::fence();
}

// CAS_U8: what the lock was.
uint8_t TryLock(uint8_t* lock, uint8_t value) {
  uint8_t seen = kLockFree;
  __atomic_compare_exchange_n(lock, &seen, value, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
  return seen;
}

}  // namespace

Table::Entry Table::Find(uint64_t key) const {
  for (Bucket* bucket = Home(key); bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries; ++i) {
      if (bucket->key[i] == key) return {bucket, i};
    }
  }
  return {};
}

// The lock of the first bucket guards the chain. A resize never gives its locks back: they lie in the old table.
Bucket* Table::LockHome(uint64_t key) {
  for (;;) {
    const HashTable* table = Current();
    Bucket* home = First(*table, key & table->mask);
    uint8_t seen;
    while ((seen = TryLock(&home->lock, kLockUpdate)) == kLockUpdate) _mm_pause();
    if (seen == kLockFree) return home;
    while (pmem::atomic_load(&table->next_version) == 0) _mm_pause();
  }
}

powercut_status Table::Insert(const uint8_t* key_bytes, const uint8_t* value_bytes) {
  const uint64_t key = Word(key_bytes), value = Word(value_bytes);
  if (key == 0) return InsertZero(value);
  if (Find(key).found()) return POWERCUT_EXISTS;
  Bucket* home = LockHome(key);
  Entry free;
  Bucket* last = home;
  for (Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries && !free.found(); ++i) {
      if (bucket->key[i] == 0) free = {bucket, i};
    }
    last = bucket;
  }
  if (free.found()) {
    pmem::mark("insert.entry");
    CommitKey(free, key, value);
    Unlock(home);
    return POWERCUT_OK;
  }
  const bool chained = Chain(last, key, value);
  Unlock(home);
  if (!chained) return POWERCUT_FULL;
  const HashTable* table = Current();
  // The item is in; a pool without room for a new table leaves the old one as it is.
  if (options_.auto_resize && table->expansions >= table->expansions_limit) (void)Status(/*increase=*/true);
  return POWERCUT_OK;
}

// The value, then the key.
void Table::CommitKey(const Entry& entry, uint64_t key, uint64_t value) {
  if (Has(Bug::kKeyBeforeValue)) Commit(entry.key(), key);
  pmem::atomic_store(entry.value(), value);
  pmem::persist(entry.value(), sizeof value);
  pmem::mark("insert.value");
  if (!Has(Bug::kKeyBeforeValue)) Commit(entry.key(), key);
}

// The bucket with its item, then the link to it.
bool Table::Chain(Bucket* last, uint64_t key, uint64_t value) {
  const uint64_t offset = CreateBucket(Current());
  if (offset == 0) return false;
  pmem::mark("insert.chain");
  Bucket* fresh = BucketAt(offset);
  fresh->value[0] = value;
  fresh->key[0] = key;
  if (!Has(Bug::kChainUnflushed)) pmem::persist(fresh, sizeof *fresh);
  if (Has(Bug::kLinkUnflushed)) {
    pmem::atomic_store(&last->next, offset);
  } else {
    Commit(&last->next, offset);
  }
  return true;
}

powercut_status Table::Update(const uint8_t* key_bytes, const uint8_t* value_bytes) {
  const uint64_t key = Word(key_bytes), value = Word(value_bytes);
  if (key == 0) {
    if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
    Commit(&root()->zero_value, value);
    return POWERCUT_OK;
  }
  const Entry entry = Find(key);
  if (!entry.found()) return POWERCUT_NOT_FOUND;
  Bucket* home = LockHome(key);
  pmem::mark("update");
  if (Has(Bug::kUpdateUnflushed)) {
    pmem::atomic_store(entry.value(), value);
  } else {
    Commit(entry.value(), value);
  }
  Unlock(home);
  return POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key_bytes) {
  const uint64_t key = Word(key_bytes);
  if (key == 0) {
    if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
    Commit(&root()->zero_present, 0);
    return POWERCUT_OK;
  }
  const Entry entry = Find(key);
  if (!entry.found()) return POWERCUT_NOT_FOUND;
  Bucket* home = LockHome(key);
  pmem::mark("erase");
  if (Has(Bug::kEraseUnflushed)) {
    pmem::atomic_store(entry.key(), uint64_t{0});
  } else {
    Commit(entry.key(), 0);
  }
  Unlock(home);
  return POWERCUT_OK;
}

powercut_status Table::Lookup(const uint8_t* key_bytes, uint8_t* value) const {
  const uint64_t key = Word(key_bytes);
  if (key == 0) {
    if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
    std::memcpy(value, &root()->zero_value, sizeof(uint64_t));
    return POWERCUT_OK;
  }
  const Entry entry = Find(key);
  if (!entry.found()) return POWERCUT_NOT_FOUND;
  std::memcpy(value, entry.value(), sizeof(uint64_t));
  return POWERCUT_OK;
}

// The item of key 0, with its flag as the commit word.
powercut_status Table::InsertZero(uint64_t value) {
  if (root()->zero_present != 0) return POWERCUT_EXISTS;
  pmem::atomic_store(&root()->zero_value, value);
  pmem::persist(&root()->zero_value, sizeof value);
  Commit(&root()->zero_present, 1);
  return POWERCUT_OK;
}

}  // namespace powercut::pclht
