// A hash map of sorted lock-free lists (Harris, DISC 2001) in persistent memory, made durable by one of several
// published constructions (construction.h). README.md has the protocol.
//
// The handle is volatile: everything in it is rebuilt by Open.
#ifndef POWERCUT_TARGETS_CONSTRUCTIONS_TABLE_H_
#define POWERCUT_TARGETS_CONSTRUCTIONS_TABLE_H_

#include <cstdint>
#include <cstring>
#include <memory>

#include "targets/common/hash.h"
#include "targets/common/scheme_table.h"
#include "targets/constructions/construction.h"
#include "targets/constructions/nodes.h"

namespace powercut::constructions {

class Table {
 public:
  POWERCUT_SCHEME_TABLE(constructions::Options);  // list.cc
  powercut_status Maintain(const char*) { return POWERCUT_UNSUPPORTED; }
  void Draw(Drawing* to) const;  // verify.cc

  // A region is a list.
  uint64_t regions() const { return options_.buckets; }
  template <typename Visit>
  void Walk(uint64_t region, Visit visit) const {
    ForEachNode(region, [&](const Node& node) { return visit(BytesOf(node.key), BytesOf(node.value)); });
  }
  template <typename Visit>
  void ForEachCopy(const uint8_t* key, Visit visit) const {
    const uint64_t wanted = WordAt(key);
    Walk(RegionOf(wanted),
         [&](const uint8_t* found, const uint8_t* value) { return WordAt(found) == wanted && visit(found, value); });
  }

  // A block is a node that a list holds (nodes.h), so none can be lost.
  struct Blocks {
    const Table& table;
    template <typename Visit>
    bool ForEach(Visit visit) const {
      for (uint64_t region = 0; region < table.regions(); ++region) {
        table.ForEachNode(region, [&](const Node& node) {
          visit(table.nodes_.LinkTo(&node), sizeof(Node));
          return false;
        });
      }
      return true;
    }
  };
  Blocks allocator() const { return {*this}; }
  bool Reaches(uint64_t offset) const;  // verify.cc

 private:
  // The place where a search has ended: `left` holds `first`, which names `right`, or erased nodes that lie before
  // `right`.
  struct Place {
    Link* parent;  // what names the node that holds `left`, or `left` itself, the list's head
    Link* left;    // in the last node whose key is less, or the head
    Link first;
    Node* right;    // the first node whose key is not less; null: none
    Link next;      // what `right` holds
    bool is_found;  // `right` has the key
  };

  Table(powercut_pool pool, const Options& options)
      : pool_(pool), options_(options), nodes_(pool, NodesBegin(options.buckets)) {}

  static uint64_t WordAt(const uint8_t* bytes) {
    uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
  }
  static const uint8_t* BytesOf(const uint64_t& word) { return reinterpret_cast<const uint8_t*>(&word); }
  static uint64_t NodesBegin(uint64_t buckets) {
    return pmem::kLine + (buckets * sizeof(Link) + pmem::kLine - 1) / pmem::kLine * pmem::kLine;
  }

  Root* root() const { return reinterpret_cast<Root*>(pool_.base); }
  Link* Head(uint64_t region) const { return reinterpret_cast<Link*>(pool_.base + pmem::kLine) + region; }
  uint64_t RegionOf(uint64_t key) const { return HashKey(BytesOf(key), sizeof key) & (options_.buckets - 1); }

  // The nodes of a list that are not erased, until `visit` returns true.
  template <typename Visit>
  void ForEachNode(uint64_t region, Visit visit) const {
    for (Link link = pmem::atomic_load(Head(region)); (link & ~kMarks) != 0;) {
      const Node* node = nodes_.At(link);
      link = pmem::atomic_load(&node->next);
      if ((link & kErased) == 0 && visit(*node)) return;
    }
  }

  // list.cc
  template <typename Operation>
  powercut_status Run(Operation operation);
  Place Search(uint64_t key);
  void RestOn(const Place& place);
  static void Fill(Node* node, uint64_t key, uint64_t value, Link next);
  bool Publish(Node* node, Link* link, Link expected, Link desired);

  powercut_status Recover();  // recover.cc
  bool RecoverList(Link* head);

  powercut_pool pool_;
  Options options_;
  Nodes nodes_;
  std::unique_ptr<Construction> construction_;
};

}  // namespace powercut::constructions
#endif  // POWERCUT_TARGETS_CONSTRUCTIONS_TABLE_H_
