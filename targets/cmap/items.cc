// The four operations: internal_insert, insert_or_assign, internal_erase, internal_find.
#include "targets/cmap/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cmap {

uint64_t* Table::FindLink(Bucket* bucket, Bytes key) const {
  uint64_t* link = &bucket->head;
  while (*link != 0 && !(KeyOf(*link) == key)) link = &NodeAt(*link)->next;
  return *link == 0 ? nullptr : link;
}

// The link to the key's node, whose bucket `lock` then holds: alone, if the link is to be changed. Null: no such key.
uint64_t* Table::Locate(Bytes key, bool change, BucketLock* lock) {
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

// Durable at return. 0: the pool is full. `old`: the node whose place it takes; 0 if there is none.
uint64_t Table::CreateNode(Bytes key, Bytes value, uint64_t next, uint64_t old) {
  const Node head{.next = next,
                  .lock = kFree,
                  .key_size = key.size,
                  .value_words = static_cast<uint32_t>(WordsOf(value.size)),
                  .value_size = value.size};
  const uint64_t node = Allocate(NodeBytes(head));
  if (node == 0) return 0;
  *NodeAt(node) = head;
  key.CopyTo(NodeAt(node) + 1);
  value.CopyTo(ValueWords(node));
  const uint64_t bytes = NodeBytes(old != 0 && Has(Bug::kOldSizeFlushed) ? *NodeAt(old) : head);
  SKIP_IF (Bug::kNodeUnflushed) pmem::persist(NodeAt(node), bytes);
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

powercut_status Table::Insert(Bytes key, Bytes value) {
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
    const uint64_t node = CreateNode(key, value, bucket->head, /*old=*/0);
    if (node == 0) return POWERCUT_FULL;
    pmem::mark("insert");
    items = Link(&bucket->head, node, +1, !Has(Bug::kHeadUnflushed));
    break;
  }
  CheckGrowth(mask, items);
  return POWERCUT_OK;
}

// A value is assigned under the lock of its node alone. Where its room is too small, a new node takes the place.
powercut_status Table::Update(Bytes key, Bytes value) {
  if (options_.replace) return Replace(key, value);
  BucketLock lock(this);
  const uint64_t* link = Locate(key, /*change=*/false, &lock);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t node = *link;
  if (WordsOf(value.size) > NodeAt(node)->value_words) {
    lock.Release();
    return Replace(key, value);
  }
  LockGuard guard(NodeLock(node));
  lock.Release();
  return Assign(node, value, &guard);
}

static uint64_t WordOf(Bytes value, uint64_t i) {
  uint64_t out = 0;
  const uint64_t rest = value.size - i * 8;
  std::memcpy(&out, value.data + i * 8, rest < 8 ? rest : 8);
  return out;
}

// A value of another size changes at least two words: its own and its size.
powercut_status Table::Assign(uint64_t node, Bytes value, LockGuard* guard) {
  uint64_t* size = &NodeAt(node)->value_size;
  const bool resized = *size != value.size;
  const uint64_t count = WordsOf(value.size);
  if (!resized && (count == 1 || Has(Bug::kAssignUnlogged))) return AssignWords(node, value, guard);
  if (count == 1 && Has(Bug::kSizeByTwoStores)) return AssignByTwoStores(node, value);
  Transaction transaction(this);
  if (!transaction.Reserve(count + resized)) return POWERCUT_FULL;
  pmem::mark("update.logged");
  DO_IF (Bug::kSizeFirst) SetSize(size, value.size, /*flush=*/true);
  if (resized && !SetsSizeAlone()) transaction.Set(size, value.size);
  for (uint64_t i = 0; i < count; ++i) transaction.Set(&ValueWords(node)[i], WordOf(value, i));
  transaction.Commit();
  DO_IF (Bug::kSizeLate) SetSize(size, value.size, /*flush=*/true);
  DO_IF (Bug::kSizeUnflushed) SetSize(size, value.size, /*flush=*/false);
  return POWERCUT_OK;
}

// The planted bugs of sizes: the size is not in the transaction.
bool Table::SetsSizeAlone() const { return Has(Bug::kSizeFirst) || Has(Bug::kSizeLate) || Has(Bug::kSizeUnflushed); }

void Table::SetSize(uint64_t* word, uint64_t size, bool flush) {
  pmem::atomic_store(word, size);
  if (flush) pmem::persist(word, sizeof *word);
}

powercut_status Table::AssignByTwoStores(uint64_t node, Bytes value) {
  pmem::mark("update.word");
  pmem::atomic_store(ValueWords(node), WordOf(value, 0));
  pmem::atomic_store(&NodeAt(node)->value_size, uint64_t{value.size});
  pmem::persist(NodeAt(node), NodeBytes(*NodeAt(node)));
  return POWERCUT_OK;
}

powercut_status Table::AssignWords(uint64_t node, Bytes value, LockGuard* guard) {
  uint64_t* words = ValueWords(node);
  pmem::mark("update.word");
  for (uint64_t i = 0; i < WordsOf(value.size); ++i) pmem::atomic_store(&words[i], WordOf(value, i));
  DO_IF (Bug::kUnlockBeforeFlush) guard->Release();
  pmem::persist(words, WordsOf(value.size) * 8);
  return POWERCUT_OK;
}

// Puts a new node in the place of the old one, by one store.
powercut_status Table::Replace(Bytes key, Bytes value) {
  BucketLock lock(this);
  uint64_t* link = Locate(key, /*change=*/true, &lock);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t old = *link;
  const uint64_t node = CreateNode(key, value, NodeAt(old)->next, old);
  if (node == 0) return POWERCUT_FULL;
  AwaitReaders(old);
  pmem::mark("update.replace");
  DO_IF (Bug::kReplaceTwoStores) Link(link, NodeAt(old)->next, 0, true);
  DO_IF (Bug::kReplaceFreesFirst) Free(old);
  Link(link, node, 0, true);
  SKIP_IF (Bug::kReplaceFreesFirst) Free(old);
  return POWERCUT_OK;
}

// Returns when nobody uses the node. Precondition: its bucket is held alone, so that nobody comes.
void Table::AwaitReaders(uint64_t node) const {
  SKIP_IF (Bug::kEraseNoWait) const LockGuard guard(NodeLock(node));
}

powercut_status Table::Erase(Bytes key) {
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
powercut_status Table::Lookup(Bytes key, ValueRoom* value) {
  if (!options_.concurrent || Has(Bug::kLookupUnlocked)) {
    const uint64_t* link = FindLink(BucketAt(Holder(Hash(key))), key);
    if (link == nullptr) return POWERCUT_NOT_FOUND;
    value->Put(ValueOf(*link));
    return POWERCUT_OK;
  }
  BucketLock lock(this);
  const uint64_t* link = Locate(key, /*change=*/false, &lock);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t node = *link;
  const LockGuard guard(Has(Bug::kValueUnlocked) ? nullptr : NodeLock(node), /*alone=*/false);
  lock.Release();
  value->Put(ValueOf(node));
  return POWERCUT_OK;
}

}  // namespace powercut::cmap
