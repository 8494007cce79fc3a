// PFHT, the PCM-friendly hash table (Debnath et al.: "Revisiting Hash Table Design for Phase Change Memory", SIGOPS OSR
// 2016). This version follows Level hashing (OSDI 2018), which describes PFHT in 2.3 and 4.1 and makes PFHT persistent
// by the protocols of 3.3. One thread. README.md maps functions to sections of the papers.
//
// The handle is volatile: Open rebuilds all its members.
#ifndef POWERCUT_TARGETS_PFHT_TABLE_H_
#define POWERCUT_TARGETS_PFHT_TABLE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "targets/common/hash.h"
#include "targets/common/scheme_table.h"
#include "targets/common/token_table.h"
#include "targets/pfht/layout.h"
#include "targets/pfht/options.h"

namespace powercut::pfht {

// The table that the root names, or one that is being built.
struct Body {
  Shape shape;
  uint8_t* base = nullptr;
  uint64_t stash_items = 0;  // volatile; counted by open
  bool named = true;         // false: nothing reaches it yet, so its stores need no order among themselves
};

// Where a copy of an item lies: a slot of a bucket, or a node of the stash.
struct Place {
  uint8_t* item = nullptr;
  uint8_t* bucket = nullptr;  // null in the stash
  uint32_t slot = 0;
  uint64_t* link = nullptr;        // the word that names the node
  const Body* stash_of = nullptr;  // the table whose stash has the node

  bool found() const { return item != nullptr; }
};

class Table : public TokenTable {
 public:
  POWERCUT_SCHEME_TABLE(pfht::Options);           // insert.cc, update.cc, erase.cc (and Lookup)
  powercut_status Maintain(const char* command);  // resize.cc

  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) {
    ForEachPlace(key, [&](const Place& place) { return visit(place.item, place.item + options_.key_size); });
  }
  // Regions: 0 is the root, then of each table the buckets, then the chains of the stash (verify.cc).
  uint64_t regions() const {
    uint64_t count = 1 + body_.shape.regions();
    for (const Body& older : older_) count += older.shape.regions();
    return count;
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) {
    if (region == 0) return;
    const auto each = [&](const Place& place) { return visit(place.item, place.item + options_.key_size); };
    const auto [body, index] = RegionOf(region);
    if (index < body->shape.buckets()) {
      ForEachInBucket(Bucket(*body, index), each);
    } else {
      ForEachInChain(*body, index - body->shape.buckets(), each);
    }
  }
  bool Reaches(uint64_t offset) const;
  void Draw(Drawing* to) const;  // draw.cc

  const Body& body() const { return body_; }

 private:
  Table(powercut_pool pool, const Options& options)
      : TokenTable(pool, TokenBucket(options.key_size, options.value_size, options.slots), options.defects(), kUnit,
                   options.resize),
        options_(options) {}

  bool Has(Bug bug) const { return options_.bug == bug; }
  uint64_t GeometryWord() const;

  // The table of a region, and the number of the region there. Precondition: 0 < region < regions().
  std::pair<const Body*, uint64_t> RegionOf(uint64_t region) const {
    --region;
    if (region < body_.shape.regions()) return {&body_, region};
    region -= body_.shape.regions();
    const Body* body = older_.begin();
    for (; region >= body->shape.regions(); ++body) region -= body->shape.regions();
    return {body, region};
  }
  uint8_t* Bucket(const Body& body, uint64_t index) const { return body.base + index * bucket_.stride(); }
  uint64_t BucketIndex(const Body& body, const uint8_t* key, uint32_t function) const {
    return HashKey(key, options_.key_size, function) & (body.shape.buckets() - 1);
  }
  uint64_t ChainIndex(const Body& body, const uint8_t* key) const {
    return HashKey(key, options_.key_size, 2) & (body.shape.chains - 1);
  }
  uint64_t* Head(const Body& body, uint64_t chain) const {
    return reinterpret_cast<uint64_t*>(body.base + body.shape.heads_at) + chain;
  }
  StashNode* NodeAt(uint64_t offset) const { return reinterpret_cast<StashNode*>(pool_.base + offset); }
  uint32_t Tokens(const uint8_t* bucket) const { return bucket_.LoadTokens(bucket) & bucket_.full(); }

  Place NodePlace(const Body& body, uint64_t* link) const {
    return {.item = NodeAt(*link)->item, .link = link, .stash_of = &body};
  }
  // visit(place) for every item; true once visit is.
  template <typename Visit>
  bool ForEachInBucket(uint8_t* bucket, Visit visit) const {
    for (uint32_t rest = Tokens(bucket); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
      if (visit(Place{.item = bucket_.Slot(bucket, slot), .bucket = bucket, .slot = slot})) return true;
    }
    return false;
  }
  template <typename Visit>
  bool ForEachInChain(const Body& body, uint64_t chain, Visit visit) const {
    for (uint64_t* link = Head(body, chain); *link != 0;) {
      StashNode* node = NodeAt(*link);
      if (visit(NodePlace(body, link))) return true;
      link = &node->next;
    }
    return false;
  }
  // visit(place) for every valid copy of the key: the first table first, in each the two buckets, then its chain.
  template <typename Visit>
  bool ForEachPlace(const uint8_t* key, Visit visit) const {
    if (ForEachPlaceIn(body_, key, visit)) return true;
    return std::any_of(older_.begin(), older_.end(),
                       [&](const Body& older) { return ForEachPlaceIn(older, key, visit); });
  }
  template <typename Visit>
  bool ForEachPlaceIn(const Body& body, const uint8_t* key, Visit visit) const {
    const auto matching = [&](const Place& place) { return bucket_.KeyEquals(place.item, key) && visit(place); };
    const uint64_t first = BucketIndex(body, key, 0), second = BucketIndex(body, key, 1);
    if (ForEachInBucket(Bucket(body, first), matching)) return true;
    if (second != first && ForEachInBucket(Bucket(body, second), matching)) return true;
    return body.shape.chains != 0 && ForEachInChain(body, ChainIndex(body, key), matching);
  }
  Place Find(const uint8_t* key) const;
  // A copy of the same key other than the one at `item`.
  Place FindOtherCopy(const uint8_t* key, const uint8_t* item) const;

  // insert.cc
  bool PlaceItem(Body* body, const uint8_t* item);
  bool PlaceInBuckets(const Body& body, const uint8_t* item);
  bool PlaceByDisplacement(const Body& body, const uint8_t* item);
  bool PlaceInStash(Body* body, const uint8_t* item);
  void PutInSlot(const Body& body, uint8_t* bucket, uint32_t slot, const uint8_t* item, Bug token_first) const;
  void EmptySlot(const Body& body, uint8_t* bucket, uint32_t slot) const;
  void Displace(const Body& body, const Place& from, uint8_t* to, uint32_t slot) const;
  bool DropIfDuplicate(const Place& place) const;

  void UpdateLogFree(const Place& place, uint32_t slot, const uint8_t* item) const;  // update.cc

  // erase.cc
  void Remove(const Place& place);
  void Unlink(const Place& place);

  // resize.cc
  powercut_status Expand();
  powercut_status Shrink();
  Built Build(uint32_t buckets_log2, Body* next);
  bool CopyItems(Body* next);
  void Replace(const Body& next);
  void FreeAll(const Body& body);
  bool Introduce(uint32_t buckets_log2);
  powercut_status FinishRehash(bool recovering);
  bool RehashItems(bool recovering);
  bool RehashItem(const Place& place, bool look_for_copy);

  // recover.cc
  powercut_status Attach();
  powercut_status SweepUnreached();
  bool IsTable(uint64_t offset) const;

  void DrawBody(const Body& body, const std::string& age, Drawing* to) const;  // draw.cc

  // verify.cc
  powercut_status VerifyRoot(char* message, size_t size);
  powercut_status VerifyBucket(const Body& body, uint64_t index, char* message, size_t size);
  powercut_status VerifyChain(const Body& body, uint64_t chain, char* message, size_t size);

  Options options_;
  Body body_;                // the first table, which takes the items
  OlderTables<Body> older_;  // resize=rehash
};

}  // namespace powercut::pfht
#endif  // POWERCUT_TARGETS_PFHT_TABLE_H_
