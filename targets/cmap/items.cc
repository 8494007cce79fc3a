// The four operations: internal_insert, insert_or_assign, internal_erase, internal_find.
#include "targets/cmap/table.h"

namespace powercut::cmap {

uint64_t* Table::FindLink(Bucket* bucket, const uint8_t* key) const {
  uint64_t* link = &bucket->head;
  while (*link != 0 && !KeyEquals(*link, key)) link = &NodeAt(*link)->next;
  return *link == 0 ? nullptr : link;
}

// Durable at return. 0: the pool is full.
uint64_t Table::CreateNode(const uint8_t* key, const uint8_t* value, uint64_t next) {
  const uint64_t node = allocator_.Allocate(node_size());
  if (node == 0) return 0;
  NodeAt(node)->next = next;
  std::memcpy(pool_.base + node + sizeof(Node), key, options_.key_size);
  std::memcpy(ValueOf(node), value, options_.value_size);
  if (!Has(Bug::kNodeUnflushed)) pmem::persist(NodeAt(node), node_size());
  return node;
}

// Changes one link of a chain, and the number of items by `items` with it.
void Table::Link(uint64_t* link, uint64_t to, int64_t items, bool flush) {
  items_ += static_cast<uint64_t>(items);
  if (options_.logged_size && items != 0 && !Has(Bug::kSizeOutside)) {
    Transaction transaction(this);
    transaction.Set(link, to);
    transaction.Set(&root()->items, items_);
    transaction.Commit();
    return;
  }
  pmem::atomic_store(link, to);
  if (flush) pmem::persist(link, sizeof *link);
  if (options_.logged_size && items != 0) {
    pmem::atomic_store(&root()->items, items_);
    pmem::persist(&root()->items, sizeof items_);
  }
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  Bucket* bucket = Access(Hash(key));
  if (FindLink(bucket, key) != nullptr) return POWERCUT_EXISTS;
  const uint64_t node = CreateNode(key, value, bucket->head);
  if (node == 0) return POWERCUT_FULL;
  pmem::mark("insert");
  Link(&bucket->head, node, +1, !Has(Bug::kHeadUnflushed));
  // check_growth. The item is in; a pool without room for a segment leaves the buckets as they are.
  if (items_ >= mask_) (void)EnableSegment(static_cast<uint32_t>(std::bit_width(mask_)));
  return POWERCUT_OK;
}

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  uint64_t* link = FindLink(Access(Hash(key)), key);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  return options_.replace ? Replace(link, value) : Assign(*link, value);
}

powercut_status Table::Assign(uint64_t node, const uint8_t* value) {
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
  pmem::mark("update.replace");
  if (Has(Bug::kReplaceTwoStores)) Link(link, NodeAt(old)->next, 0, true);
  Link(link, node, 0, true);
  allocator_.Free(old);
  return POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key) {
  uint64_t* link = FindLink(Access(Hash(key)), key);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t node = *link;
  const uint64_t next = NodeAt(node)->next;
  pmem::mark("erase");
  if (Has(Bug::kFreeBeforeUnlink)) allocator_.Free(node);
  Link(link, next, -1, !Has(Bug::kUnlinkUnflushed));
  pmem::mark("erase.unlinked");
  if (!Has(Bug::kFreeBeforeUnlink)) allocator_.Free(node);
  return POWERCUT_OK;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) const {
  const uint64_t* link = FindLink(BucketAt(Holder(Hash(key))), key);
  if (link == nullptr) return POWERCUT_NOT_FOUND;
  std::memcpy(value, ValueOf(*link), options_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::cmap
