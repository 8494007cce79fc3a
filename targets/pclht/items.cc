// The operations that change items: clht_put, clht_update, clht_remove. Each operation changes the table by one 8-byte
// store, which bypasses the cache.
#include "targets/common/planted_bugs.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

// Durable at return, and one write. Where other threads read without a lock it goes through the cache: a store beside
// the cache is durable by a fence of its own thread only, so that a reader could not make sure of it.
void Table::Commit(uint64_t* word, uint64_t value) const {
  if (options_.concurrent && options_.hardened) {
    pmem::atomic_store(word, value);
    pmem::persist(word, sizeof value);
    return;
  }
  pmem::nt_store(word, value);
  pmem::fence();
}

// The lock of the first bucket guards the chain. A resize never gives its locks back: they lie in the old table.
Bucket* Table::LockHome(uint64_t key, Stay* stay) {
  for (;;) {
    const HashTable* table = TableOf(*stay);
    Bucket* home = First(*table, key & table->mask);
    uint8_t seen;
    while ((seen = TryLock(&home->lock, kLockUpdate)) == kLockUpdate) {
      do pmem::pause();
      while (options_.concurrent && pmem::atomic_load(&home->lock) == kLockUpdate);
    }
    if (seen == kLockFree) return home;
    AwaitResize(*table, *home, stay);
    DO_IF (Bug::kResizeUnnoticed) return home;
    stay->Renew();
  }
}

// The entry of `key`, and the bucket that was locked for it. Not found: nothing is locked.
Table::Entry Table::LockEntry(uint64_t key, Stay* stay, Bucket** home) {
  Entry entry;
  if (AsAuthors(Bug::kSlotFoundUnlocked)) {
    entry = Find(key, HomeIn(*stay, key));
    if (!entry.found()) return entry;
  }
  *home = LockHome(key, stay);
  if (LooksUnderLock(Bug::kSlotFoundUnlocked)) {
    entry = Find(key, *home);
    if (!entry.found()) Unlock(*home);
  }
  return entry;
}

// The bucket was copied. Returns when there is a new table, or when the resize found no room and gave its locks back.
void Table::AwaitResize(const HashTable& table, const Bucket& home, Stay* stay) {
  if (options_.concurrent) Help(stay->version());
  while (pmem::atomic_load(&table.next_version) == 0) {
    if (options_.concurrent && pmem::atomic_load(&home.lock) != kLockResize) return;
    pmem::pause();
  }
}

// A search that read a key before this finds that the number has changed before the entry can be used again.
void Table::UnlockErased(Bucket* home) const {
  if (!options_.concurrent || !options_.hardened) return Unlock(home);
  pmem::atomic_store(&home->state, (pmem::atomic_load(&home->state) & ~kLockMask) + kOneErasure);
}

powercut_status Table::Insert(const uint8_t* key_bytes, const uint8_t* value_bytes) {
  const uint64_t key = Word(key_bytes), value = Word(value_bytes);
  if (key == 0) return InsertZero(value);
  Stay stay(threads_.get());
  if (AsAuthors(Bug::kInsertCheckedUnlocked) && Find(key, HomeIn(stay, key)).found()) return POWERCUT_EXISTS;
  Bucket* home = LockHome(key, &stay);
  const bool looks = LooksUnderLock(Bug::kInsertCheckedUnlocked);
  Entry free;
  Bucket* last = home;
  for (Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries && (looks || !free.found()); ++i) {
      const uint64_t held = pmem::atomic_load(&bucket->key[i]);
      if (held == 0 && !free.found()) free = {bucket, i};
      if (held == key && looks) {
        Unlock(home);
        return POWERCUT_EXISTS;
      }
    }
    last = bucket;
  }
  if (free.found()) {
    pmem::mark("insert.entry");
    CommitKey(free, key, value);
    Unlock(home);
    return POWERCUT_OK;
  }
  const bool chained = Chain(TableOf(stay), last, key, value);
  Unlock(home);
  if (!chained) return POWERCUT_FULL;
  const HashTable* table = TableOf(stay);
  // The item is in; a pool without room for a new table leaves the old one as it is.
  if (options_.auto_resize && pmem::atomic_load(&table->expansions) >= table->expansions_limit) {
    (void)Status(/*increase=*/true, &stay);
  }
  return POWERCUT_OK;
}

// The value, then the key.
void Table::CommitKey(const Entry& entry, uint64_t key, uint64_t value) {
  DO_IF (Bug::kKeyBeforeValue) Commit(entry.key(), key);
  pmem::atomic_store(entry.value(), value);
  pmem::persist(entry.value(), sizeof value);
  pmem::mark("insert.value");
  SKIP_IF (Bug::kKeyBeforeValue) Commit(entry.key(), key);
}

// The bucket with its item, then the link to it.
bool Table::Chain(HashTable* table, Bucket* last, uint64_t key, uint64_t value) {
  const uint64_t offset = CreateBucket(table);
  if (offset == 0) return false;
  pmem::mark("insert.chain");
  Bucket* fresh = BucketAt(offset);
  fresh->value[0] = value;
  fresh->key[0] = key;
  SKIP_IF (Bug::kChainUnflushed) pmem::persist(fresh, sizeof *fresh);
  DO_IF (Bug::kLinkUnflushed) pmem::atomic_store(&last->next, offset);
  SKIP_IF (Bug::kLinkUnflushed) Commit(&last->next, offset);
  return true;
}

powercut_status Table::CommitUnlocked(Bucket* home, uint64_t* word, uint64_t value) const {
  pmem::atomic_store(word, value);
  Unlock(home);
  pmem::persist(word, sizeof value);
  return POWERCUT_OK;
}

powercut_status Table::Update(const uint8_t* key_bytes, const uint8_t* value_bytes) {
  const uint64_t key = Word(key_bytes), value = Word(value_bytes);
  if (key == 0) {
    const SpinGuard guard(LockOf(&Threads::zero_lock));
    if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
    Commit(&root()->zero_value, value);
    return POWERCUT_OK;
  }
  Stay stay(threads_.get());
  Bucket* home = nullptr;
  const Entry entry = LockEntry(key, &stay, &home);
  if (!entry.found()) return POWERCUT_NOT_FOUND;
  pmem::mark("update");
  DO_IF (Bug::kUnlockBeforeFlush) return CommitUnlocked(home, entry.value(), value);
  DO_IF (Bug::kUpdateUnflushed) pmem::atomic_store(entry.value(), value);
  SKIP_IF (Bug::kUpdateUnflushed) Commit(entry.value(), value);
  Unlock(home);
  return POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key_bytes) {
  const uint64_t key = Word(key_bytes);
  if (key == 0) {
    const SpinGuard guard(LockOf(&Threads::zero_lock));
    if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
    Commit(&root()->zero_present, 0);
    return POWERCUT_OK;
  }
  Stay stay(threads_.get());
  Bucket* home = nullptr;
  const Entry entry = LockEntry(key, &stay, &home);
  if (!entry.found()) return POWERCUT_NOT_FOUND;
  pmem::mark("erase");
  DO_IF (Bug::kEraseUnflushed) pmem::atomic_store(entry.key(), uint64_t{0});
  SKIP_IF (Bug::kEraseUnflushed) Commit(entry.key(), 0);
  UnlockErased(home);
  return POWERCUT_OK;
}

// The item of key 0, with its flag as the commit word.
powercut_status Table::InsertZero(uint64_t value) {
  const SpinGuard guard(LockOf(&Threads::zero_lock));
  if (root()->zero_present != 0) return POWERCUT_EXISTS;
  pmem::atomic_store(&root()->zero_value, value);
  pmem::persist(&root()->zero_value, sizeof value);
  Commit(&root()->zero_present, 1);
  return POWERCUT_OK;
}

}  // namespace powercut::pclht
