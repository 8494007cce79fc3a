// Insertion (OSDI'18, 2.2 and 2.3): two buckets, at most one displacement, then the stash; log-free (3.3(2)).
#include "targets/common/planted_bugs.h"
#include "targets/pfht/table.h"

namespace powercut::pfht {

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  const TokenItem item = bucket_.MakeItem(key, value);
  while (!PlaceItem(&body_, item.bytes)) {
    if (!options_.auto_expand) return POWERCUT_FULL;
    const powercut_status status = Expand();
    if (status != POWERCUT_OK) return status;
  }
  return POWERCUT_OK;
}

bool Table::PlaceItem(Body* body, const uint8_t* item) {
  return PlaceInBuckets(*body, item) || PlaceByDisplacement(*body, item) || PlaceInStash(body, item);
}

bool Table::PlaceInBuckets(const Body& body, const uint8_t* item) {
  uint8_t* bucket = Bucket(body, BucketIndex(body, item, 0));
  uint8_t* other = Bucket(body, BucketIndex(body, item, 1));
  uint32_t tokens = Tokens(bucket);
  const bool settled = options_.choice == Choice::kFirst && tokens != bucket_.full();
  if (!settled && other != bucket && std::popcount(Tokens(other)) < std::popcount(tokens)) {
    bucket = other;
    tokens = Tokens(other);
  }
  if (tokens == bucket_.full()) return false;
  pmem::mark("insert.bucket");
  PutInSlot(body, bucket, static_cast<uint32_t>(std::countr_one(tokens)), item, Bug::kInsertTokenFirst);
  return true;
}

// "only allow one-time eviction" (2.3): the first item of the two full buckets whose other bucket has an empty slot
// goes there, and the new item takes its slot.
bool Table::PlaceByDisplacement(const Body& body, const uint8_t* item) {
  const uint64_t index[2] = {BucketIndex(body, item, 0), BucketIndex(body, item, 1)};
  for (int h = 0; h < 2; ++h) {
    if (h == 1 && index[1] == index[0]) break;
    uint8_t* bucket = Bucket(body, index[h]);
    for (uint32_t slot = 0; slot < bucket_.slots(); ++slot) {
      uint8_t* occupant = bucket_.Slot(bucket, slot);
      const uint64_t first = BucketIndex(body, occupant, 0);
      const uint64_t alternative = first == index[h] ? BucketIndex(body, occupant, 1) : first;
      if (alternative == index[h]) continue;
      uint8_t* target = Bucket(body, alternative);
      const uint32_t tokens = Tokens(target);
      if (tokens == bucket_.full()) continue;
      const Place from{.item = occupant, .bucket = bucket, .slot = slot};
      // A table that is being built has no duplicates: CopyItems() saw to it.
      if (!body.named || !DropIfDuplicate(from)) {
        Displace(body, from, target, static_cast<uint32_t>(std::countr_one(tokens)));
      }
      PutInSlot(body, bucket, slot, item, Bug::kInsertTokenFirst);
      return true;
    }
  }
  return false;
}

// 3.3(2)b: copy, set the token of the copy, clear the token of the original. A power cut in between leaves two equal
// copies.
void Table::Displace(const Body& body, const Place& from, uint8_t* to, uint32_t slot) const {
  pmem::mark("move");
  DO_IF (Bug::kMoveClearFirst) EmptySlot(body, from.bucket, from.slot);
  PutInSlot(body, to, slot, from.item, Bug::kMoveTokenFirst);
  pmem::mark("move.copied");
  SKIP_IF (Bug::kMoveClearFirst) EmptySlot(body, from.bucket, from.slot);
}

// A power cut during an earlier displacement may have left a second copy of the item that is about to be displaced. The
// paper's displacement would make a third; `hardened` clears this one, which frees the slot as well.
bool Table::DropIfDuplicate(const Place& place) const {
  if (!options_.hardened || !FindOtherCopy(place.item, place.item).found()) return false;
  pmem::mark("move.duplicate");
  Clear(place.bucket, place.slot);
  return true;
}

// 2.3: "a stash to store the items failing to be inserted into the hash table", as a chained hash table (4.2.2). The
// node is durable before the head of its chain names it.
bool Table::PlaceInStash(Body* body, const uint8_t* item) {
  if (body->stash_items >= body->shape.stash_capacity) return false;
  const uint64_t offset = allocator_.Allocate(sizeof(StashNode));
  if (offset == 0) return false;
  pmem::mark("insert.stash");
  uint64_t* head = Head(*body, ChainIndex(*body, item));
  StashNode* node = NodeAt(offset);
  node->next = *head;
  bucket_.Copy(node->item, item);
  const bool early = Has(Bug::kStashPublishEarly);
  if (!early) pmem::flush_line(node);
  if (body->named && !early) pmem::fence();
  pmem::atomic_store(head, offset);
  if (body->named) pmem::persist(head, sizeof *head);
  if (early) pmem::persist(node, sizeof *node);
  ++body->stash_items;
  return true;
}

void Table::PutInSlot(const Body& body, uint8_t* bucket, uint32_t slot, const uint8_t* item, Bug token_first) const {
  if (body.named) {
    Fill(bucket, slot, item, Has(token_first));
    return;
  }
  bucket_.Copy(bucket_.Slot(bucket, slot), item);
  bucket_.StoreTokens(bucket, bucket_.LoadTokens(bucket) | 1u << slot);
}

void Table::EmptySlot(const Body& body, uint8_t* bucket, uint32_t slot) const {
  if (body.named) {
    Clear(bucket, slot);
  } else {
    bucket_.StoreTokens(bucket, bucket_.LoadTokens(bucket) & ~(1u << slot));
  }
}

}  // namespace powercut::pfht
