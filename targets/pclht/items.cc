// The operations that change items: clht_put, clht_update, clht_remove. Each operation changes the table by one 8-byte
// store, which bypasses the cache. inline_items.cc and pointer_items.cc have the steps that other items than words
// need.
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
Bucket* Table::LockHome(uint64_t hash, Stay* stay) {
  for (;;) {
    const HashTable* table = TableOf(*stay);
    Bucket* home = First(*table, hash & table->mask);
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
Entry Table::LockEntry(const Item& key, Stay* stay, Bucket** home) {
  Entry entry;
  if (AsAuthors(Bug::kSlotFoundUnlocked)) {
    entry = Find(key, HomeIn(*stay, key.hash));
    if (!entry.found()) return entry;
  }
  *home = LockHome(key.hash, stay);
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

// Counts the change of an entry. The entry, the place of its value and the block of its item are used again afterwards
// only: a search that has read one of them finds that the number has changed.
void Table::UnlockChanged(Bucket* home) const {
  if (!options_.concurrent || !options_.hardened) return Unlock(home);
  pmem::atomic_store(&home->state, (pmem::atomic_load(&home->state) & ~kLockMask) + kOneChange);
}

powercut_status Table::Insert(Bytes key, Bytes value) {
  Item item = entries_.ItemOf(key, value);
  if (entries_.IsZero(item)) return InsertZero(item);
  Stay stay(threads_.get());
  if (AsAuthors(Bug::kInsertCheckedUnlocked) && Find(item, HomeIn(stay, item.hash)).found()) return POWERCUT_EXISTS;
  Bucket* home = LockHome(item.hash, &stay);
  const bool looks = LooksUnderLock(Bug::kInsertCheckedUnlocked);
  Entry free;
  Bucket* last = home;
  for (Bucket* bucket = home; bucket != nullptr; bucket = Next(*bucket)) {
    for (uint32_t i = 0; i < kEntries && (looks || !free.found()); ++i) {
      const Entries::Seen seen = entries_.Look(bucket, i, item);
      if (seen == Entries::Seen::kFree && !free.found()) free = entries_.At(bucket, i);
      if (seen == Entries::Seen::kKey && looks) {
        Unlock(home);
        return POWERCUT_EXISTS;
      }
    }
    last = bucket;
  }
  if (!MakeItem(&item, value)) {
    Unlock(home);
    return POWERCUT_FULL;
  }
  if (free.found()) {
    pmem::mark("insert.entry");
    CommitKey(free, item);
    Unlock(home);
    return POWERCUT_OK;
  }
  const bool chained = Chain(TableOf(stay), last, item);
  Unlock(home);
  if (!chained) {
    if (entries_.has_pointers()) Free(item.key[0]);
    return POWERCUT_FULL;
  }
  const HashTable* table = TableOf(stay);
  // The item is in; a pool without room for a new table leaves the old one as it is.
  if (options_.auto_resize && pmem::atomic_load(&table->expansions) >= table->expansions_limit) {
    (void)Status(/*increase=*/true, &stay);
  }
  return POWERCUT_OK;
}

// The value, then the key. A pointer is its own value: the item that it names is durable.
void Table::CommitKey(const Entry& entry, const Item& item) {
  if (entries_.is_wide()) return CommitKeyInline(entry, item);
  const uint64_t key = item.key[0], value = item.value[0];
  DO_IF (Bug::kKeyBeforeValue) Commit(entry.key(), key);
  if (!entries_.has_pointers()) {
    pmem::atomic_store(entry.value(), value);
    pmem::persist(entry.value(), sizeof value);
  }
  pmem::mark("insert.value");
  SKIP_IF (Bug::kKeyBeforeValue) Commit(entry.key(), key);
}

// The bucket with its item, then the link to it.
bool Table::Chain(HashTable* table, Bucket* last, const Item& item) {
  const uint64_t offset = CreateBucket(table);
  if (offset == 0) return false;
  pmem::mark("insert.chain");
  Bucket* fresh = BucketAt(offset);
  entries_.Fill(fresh, 0, item);
  SKIP_IF (Bug::kChainUnflushed) pmem::persist(fresh, entries_.bucket_bytes());
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

powercut_status Table::Update(Bytes key, Bytes bytes) {
  Item item = entries_.ItemOf(key, bytes);
  if (entries_.IsZero(item)) return UpdateZero(item);
  Stay stay(threads_.get());
  Bucket* home = nullptr;
  const Entry entry = LockEntry(item, &stay, &home);
  if (!entry.found()) return POWERCUT_NOT_FOUND;
  pmem::mark("update");
  if (entries_.has_pointers()) return UpdatePointer(home, entry, &item, bytes);
  if (entries_.is_wide()) {
    UpdateInline(entry, item);
    UnlockChanged(home);
    return POWERCUT_OK;
  }
  const uint64_t value = item.value[0];
  DO_IF (Bug::kUnlockBeforeFlush) return CommitUnlocked(home, entry.value(), value);
  DO_IF (Bug::kUpdateUnflushed) pmem::atomic_store(entry.value(), value);
  SKIP_IF (Bug::kUpdateUnflushed) Commit(entry.value(), value);
  Unlock(home);
  return POWERCUT_OK;
}

powercut_status Table::Erase(Bytes key_bytes) {
  const Item key = entries_.ItemOf(key_bytes);
  if (entries_.IsZero(key)) return EraseZero();
  Stay stay(threads_.get());
  Bucket* home = nullptr;
  const Entry entry = LockEntry(key, &stay, &home);
  if (!entry.found()) return POWERCUT_NOT_FOUND;
  const uint64_t old = entries_.has_pointers() ? *entry.key() : 0;
  pmem::mark("erase");
  DO_IF (Bug::kEraseFreesFirst) FreeItem(old);
  if (entries_.SplitsKeys()) pmem::nt_store(entry.key() - 1, 0);
  DO_IF (Bug::kEraseUnflushed) pmem::atomic_store(entry.key(), uint64_t{0});
  SKIP_IF (Bug::kEraseUnflushed) Commit(entry.key(), 0);
  UnlockChanged(home);
  SKIP_IF (Bug::kEraseFreesFirst) FreeItem(old);
  return POWERCUT_OK;
}

// The item of key 0, with its flag as the commit word.
powercut_status Table::InsertZero(const Item& item) {
  const SpinGuard guard(LockOf(&Threads::zero_lock));
  if (root()->zero_present != 0) return POWERCUT_EXISTS;
  for (int word = 0; word < (entries_.is_wide() ? 2 : 1); ++word) {
    pmem::atomic_store(&root()->zero_value[word], item.value[word]);
  }
  pmem::persist(root()->zero_value, sizeof root()->zero_value);
  Commit(&root()->zero_present, 1);
  return POWERCUT_OK;
}

powercut_status Table::UpdateZero(const Item& item) {
  const SpinGuard guard(LockOf(&Threads::zero_lock));
  if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
  if (entries_.is_wide()) pmem::nt_store(&root()->zero_value[1], item.value[1]);
  Commit(&root()->zero_value[0], item.value[0]);
  return POWERCUT_OK;
}

powercut_status Table::EraseZero() {
  const SpinGuard guard(LockOf(&Threads::zero_lock));
  if (root()->zero_present == 0) return POWERCUT_NOT_FOUND;
  Commit(&root()->zero_present, 0);
  return POWERCUT_OK;
}

}  // namespace powercut::pclht
