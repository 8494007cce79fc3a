// A chained hash table, as every textbook has it, on persistent memory: an array of heads, and a node for each item.
// Items may have any size. One thread. README.md has the algorithm in a page.
//
// The handle is volatile: everything that is the table's lies in the pool.
#ifndef POWERCUT_TARGETS_CHAINED_TABLE_H_
#define POWERCUT_TARGETS_CHAINED_TABLE_H_

#include <cstdint>

#include "targets/common/hash.h"
#include "targets/common/pool_allocator.h"
#include "targets/common/scheme_table.h"

namespace powercut::chained {

// `published` has the first three; `bug=` plants one of all into `hardened`.
enum class Bug : uint8_t {
  kNone,
  kInsertNextLate,      // insert: the link to the rest of the chain is durable after the head names the node
  kUpdateInPlace,       // update: a value of equal size is overwritten where it lies
  kCountTrusted,        // open takes the count as the cut left it
  kInsertLinkFirst,     // insert: the head names the node before the node is durable
  kUpdateUnlinksFirst,  // update: the old node leaves the chain before the new one is in it
  kUpdateFreesFirst,    // update: the old node is freed before the link is switched
  kEraseNotFlushed,     // erase: the link past the node is not flushed
  kEraseFreesFirst,     // erase: the node is freed before it leaves the chain
  kExpandPublishEarly,  // expand: the root names the new heads before they are durable
  kExpandRelinks,       // expand: the nodes themselves move to the new heads, one by one
  kLeakUnreached,       // open does not free what nobody reaches
  kCount
};

struct Options : SchemeOptions {
  bool auto_expand;
  uint32_t load;
  uint64_t buckets;
  Bug bug;
};

// Offsets are from the begin of the pool; 0 is none.
struct alignas(pmem::kLine) Root {
  uint64_t magic;
  uint64_t heads;  // block: the number of buckets, then the head of each bucket
  uint64_t count;  // items; decides when the table expands
};
static_assert(sizeof(Root) == pmem::kLine);

struct Node {
  uint64_t next;
  ItemHeader item;

  uint64_t size() const { return sizeof next + item.bytes(); }
};

class Table {
 public:
  static constexpr ItemSizes kSizes = {.most_key = 1024, .most_value = 65536};
  POWERCUT_MIXED_SCHEME_TABLE(chained::Options);  // items.cc
  powercut_status Maintain(const char* command);  // expand.cc
  void Draw(Drawing* to) const;                   // draw.cc

  // Regions: 0 is the root, then every bucket.
  uint64_t regions() const { return 1 + buckets(); }
  PoolAllocator& allocator() { return allocator_; }
  bool Reaches(uint64_t offset) const;

  template <typename Visit>
  void ForEachCopy(Bytes key, Visit visit) const {
    for (uint64_t at = *Head(key); at != 0; at = NodeAt(at)->next) {
      if (NodeAt(at)->item.key() == key && visit(NodeAt(at)->item.key(), NodeAt(at)->item.value())) return;
    }
  }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    if (region == 0) return;
    for (uint64_t at = Heads()[region - 1]; at != 0; at = NodeAt(at)->next) {
      if (visit(NodeAt(at)->item.key(), NodeAt(at)->item.value())) return;
    }
  }

 private:
  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), allocator_(pool, {.begin = sizeof(Root), .unit = pmem::kLine}) {}

  bool Has(Bug bug) const {
    return options_.bug == bug || (!options_.hardened && bug != Bug::kNone && bug <= Bug::kCountTrusted);
  }

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  Node* NodeAt(uint64_t offset) const { return reinterpret_cast<Node*>(pool_.base + offset); }
  uint64_t* WordAt(uint64_t offset) const { return reinterpret_cast<uint64_t*>(pool_.base + offset); }

  static uint64_t HeadBytes(uint64_t buckets) { return (1 + buckets) * sizeof(uint64_t); }
  uint64_t buckets() const { return *WordAt(root()->heads); }
  uint64_t* Heads() const { return WordAt(root()->heads) + 1; }
  uint64_t* HeadIn(uint64_t heads, Bytes key) const {
    return WordAt(heads) + 1 + HashKey(key.data, key.size) % *WordAt(heads);
  }
  uint64_t* Head(Bytes key) const { return HeadIn(root()->heads, key); }

  // Stores one word, durably.
  static void SetWord(uint64_t* word, uint64_t value) {
    pmem::atomic_store(word, value);
    pmem::persist(word, sizeof *word);
  }

  // items.cc
  uint64_t* FindLink(Bytes key) const;
  uint64_t NewNode(Bytes key, Bytes value, uint64_t next);
  void PersistNode(uint64_t offset) const { pmem::persist(NodeAt(offset), NodeAt(offset)->size()); }
  void SetCount(uint64_t count) { SetWord(&root()->count, count); }

  // expand.cc
  powercut_status Expand();
  bool CopyNodes(uint64_t to);
  void Relink(uint64_t to);
  void FreeTable(uint64_t heads);

  // recover.cc
  powercut_status Recover();
  bool IsNode(uint64_t offset) const;

  powercut_pool pool_;
  Options options_;
  PoolAllocator allocator_;
};

}  // namespace powercut::chained
#endif  // POWERCUT_TARGETS_CHAINED_TABLE_H_
