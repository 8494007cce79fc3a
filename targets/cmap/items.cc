// The four operations: internal_insert, insert_or_assign, internal_erase, internal_find.
#include "targets/cmap/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cmap {

uint64_t* Table::FindLink(Bucket* bucket, const uint8_t* key) const {
  uint64_t* link = &bucket->head;
  while (*link != 0 && !KeyEquals(*link, key)) link = &NodeAt(*link)->next;
  return *link == 0 ? nullptr : link;
}

// The link to the key's node, whose bucket `lock` then holds: alone, if the link is to be changed. Null: no such key.
uint64_t* Table::Locate(const uint8_t* key, bool change, BucketLock* lock) {
  const uint64_t hash = Hash(key);
  uint64_t mask = Mask();
  for (;;) {
    lock->Acquire(hash & mask);
    uint64_t* link = FindLink(lock->bucket(), key);
    if (link != nullptr && change && !lock->BecomeWriter() && !Has(Bug::kLinkStale)) {
      link = FindLink(lock->bucket(), key);
    }
    if (link != nullptr || Has(Bug::kMaskReadOnce) || !MaskRace(hash, &mask)) return link;
    lock->Release();
  }
}

// Durable at return. 0: the pool is full.
uint64_t Table::CreateNode(const uint8_t* key, const uint8_t* value, uint64_t next) {
  const uint64_t node = Allocate(node_size());
  if (node == 0) return 0;
  NodeAt(node)->next = next;
  std::memcpy(pool_.base + node + sizeof(Node), key, options_.key_size);
  std::memcpy(ValueOf(node), value, options_.value_size);
  if (options_.concurrent) pmem::atomic_store(NodeLock(node), kFree);
  SKIP_IF (Bug::kNodeUnflushed) pmem::persist(NodeAt(node), node_size());
  return node;
}

// Changes one link of a chain, and the number of items by `items` with it. The number that this leaves.
uint64_t Table::Link(uint64_t* link, uint64_t to, int64_t items, bool flush) {
  const uint64_t number = Count(items);
  if (options_.logged_size && items != 0 && !Has(Bug::kSizeOutside)) {
    const auto logged = [&] { return root()->items + static_cast<uint64_t>(items); };
    const uint64_t early = Has(Bug::kItemsReadEarly) ? logged() : 0;
    Transaction transaction(this);
    transaction.Set(link, to);
    transaction.Set(&root()->items, Has(Bug::kItemsReadEarly) ? early : logged());
    transaction.Commit();
    return number;
  }
  pmem::atomic_store(link, to);
  if (flush) pmem::persist(link, sizeof *link);
  if (options_.logged_size && items != 0) {
    pmem::atomic_store(&root()->items, number);
    pmem::persist(&root()->items, sizeof number);
  }
  return number;
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  const uint64_t hash = Hash(key);
  uint64_t mask = Mask();
  uint64_t items;
  for (;;) {
    BucketLock lock(this);
    lock.Acquire(hash & mask);
    Bucket* bucket = lock.bucket();
    if (FindLink(bucket, key) != nullptr) return POWERCUT_EXISTS;
    if (!lock.BecomeWriter() && !Has(Bug::kUpgradeUnnoticed) && FindLink(bucket, key) != nullptr) {
      return POWERCUT_EXISTS;
    }
    if (!Has(Bug::kInsertMaskReadOnce) && MaskRace(hash, &mask)) continue;
    const uint64_t node = CreateNode(key, value, bucket->head);
    if (node == 0) return POWERCUT_FULL;
    pmem::mark("insert");
    items = Link(&bucket->head, node, +1, !Has(Bug::kHeadUnflushed));
    break;
  }
  CheckGrowth(mask, items);
  return POWERCUT_OK;
}

// A value is assigned under the lock of its node alone.
powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  BucketLock lock(this);
  uint64_t* link = Locate(key, options_.replace, &lock);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  if (options_.replace) return Replace(link, value);
  const uint64_t node = *link;
  LockGuard guard(NodeLock(node));
  lock.Release();
  return Assign(node, value, &guard);
}

powercut_status Table::Assign(uint64_t node, const uint8_t* value, LockGuard* guard) {
  auto* words = reinterpret_cast<uint64_t*>(ValueOf(node));
  const auto word = [&](uint64_t i) {
    uint64_t out = 0;
    const uint64_t rest = options_.value_size - i * 8;
    std::memcpy(&out, value + i * 8, rest < 8 ? rest : 8);
    return out;
  };
  if (value_words() == 1 || Has(Bug::kAssignUnlogged)) {
    pmem::mark("update.word");
    for (uint64_t i = 0; i < value_words(); ++i) pmem::atomic_store(&words[i], word(i));
    DO_IF (Bug::kUnlockBeforeFlush) guard->Release();
    pmem::persist(words, value_words() * 8);
    return POWERCUT_OK;
  }
  Transaction transaction(this);
  if (!transaction.Reserve(value_words())) return POWERCUT_FULL;
  pmem::mark("update.logged");
  for (uint64_t i = 0; i < value_words(); ++i) transaction.Set(&words[i], word(i));
  transaction.Commit();
  return POWERCUT_OK;
}

// A new node in the place of the old one, by one store.
powercut_status Table::Replace(uint64_t* link, const uint8_t* value) {
  const uint64_t old = *link;
  const uint64_t node = CreateNode(KeyOf(old), value, NodeAt(old)->next);
  if (node == 0) return POWERCUT_FULL;
  AwaitReaders(old);
  pmem::mark("update.replace");
  DO_IF (Bug::kReplaceTwoStores) Link(link, NodeAt(old)->next, 0, true);
  Link(link, node, 0, true);
  Free(old);
  return POWERCUT_OK;
}

// Returns when nobody uses the node. Precondition: its bucket is held alone, so that nobody comes.
void Table::AwaitReaders(uint64_t node) const {
  SKIP_IF (Bug::kEraseNoWait) const LockGuard guard(NodeLock(node));
}

powercut_status Table::Erase(const uint8_t* key) {
  BucketLock lock(this);
  uint64_t* link = Locate(key, /*change=*/true, &lock);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t node = *link;
  AwaitReaders(node);
  const uint64_t next = NodeAt(node)->next;
  pmem::mark("erase");
  DO_IF (Bug::kFreeBeforeUnlink) Free(node);
  Link(link, next, -1, !Has(Bug::kUnlinkUnflushed));
  pmem::mark("erase.unlinked");
  SKIP_IF (Bug::kFreeBeforeUnlink) Free(node);
  return POWERCUT_OK;
}

// With threads, as in the source, a bucket is rehashed here as well; alone, a lookup writes nothing.
powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  if (!options_.concurrent || Has(Bug::kLookupUnlocked)) {
    const uint64_t* link = FindLink(BucketAt(Holder(Hash(key))), key);
    if (link == nullptr) return POWERCUT_NOT_FOUND;
    std::memcpy(value, ValueOf(*link), options_.value_size);
    return POWERCUT_OK;
  }
  BucketLock lock(this);
  const uint64_t* link = Locate(key, /*change=*/false, &lock);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t node = *link;
  const LockGuard guard(Has(Bug::kValueUnlocked) ? nullptr : NodeLock(node), /*alone=*/false);
  lock.Release();
  std::memcpy(value, ValueOf(node), options_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::cmap
