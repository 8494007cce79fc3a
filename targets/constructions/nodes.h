// The nodes of the pool. Nothing in the pool says which nodes are taken: a node is taken if a list holds the node, and
// open finds taken nodes by its walk. A node stays taken until the next open, even after its erase. No thread therefore
// ever meets a node that is used again.
#ifndef POWERCUT_TARGETS_CONSTRUCTIONS_NODES_H_
#define POWERCUT_TARGETS_CONSTRUCTIONS_NODES_H_

#include <cstdint>
#include <memory>
#include <new>

#include "powercut/target.h"
#include "targets/constructions/layout.h"

// Defined by the engine alone: whether this allocation is to fail though there is room (powercut faults).
extern "C" int powercut_refuse_allocation(uint64_t bytes) __attribute__((weak));

namespace powercut::constructions {

class Nodes {
 public:
  // The nodes that lie between `begin` and the end of the pool.
  Nodes(powercut_pool pool, uint64_t begin)
      : base_(pool.base), begin_(begin), count_(begin < pool.size ? (pool.size - begin) / sizeof(Node) : 0) {}

  uint64_t count() const { return count_; }
  Node* At(Link link) const { return reinterpret_cast<Node*>(base_ + (link & ~kMarks)); }
  Link LinkTo(const Node* node) const { return static_cast<Link>(reinterpret_cast<const uint8_t*>(node) - base_); }
  bool Contains(Link link) const {
    const uint64_t offset = link & ~kMarks;
    return offset >= begin_ && offset % sizeof(Node) == 0 && (offset - begin_) / sizeof(Node) < count_;
  }

  // Before the walk of open. False: no memory.
  bool Clear() {
    held_.reset(new (std::nothrow) uint64_t[count_ / 64 + 1]{});
    return held_ != nullptr;
  }
  // A list holds the node that the link names. False: so does another place.
  bool Hold(Link link) {
    const uint64_t index = IndexOf(link), bit = uint64_t{1} << index % 64;
    const bool is_new = (held_[index / 64] & bit) == 0;
    held_[index / 64] |= bit;
    return is_new;
  }

  // Null: there is none left.
  Node* Take() {
    if (powercut_refuse_allocation != nullptr && powercut_refuse_allocation(sizeof(Node)) != 0) return nullptr;
    while (pmem::atomic_load(&next_) < count_) {
      const uint64_t index = __atomic_fetch_add(&next_, uint64_t{1}, __ATOMIC_RELAXED);
      if (index >= count_) return nullptr;
      if ((held_[index / 64] >> index % 64 & 1) == 0) return At(begin_ + index * sizeof(Node));
    }
    return nullptr;
  }

 private:
  uint64_t IndexOf(Link link) const { return ((link & ~kMarks) - begin_) / sizeof(Node); }

  uint8_t* base_;
  uint64_t begin_;
  uint64_t count_;
  std::unique_ptr<uint64_t[]> held_;  // a bit a node: a list held it when the table was opened
  uint64_t next_ = 0;                 // no node below it is free
};

}  // namespace powercut::constructions
#endif  // POWERCUT_TARGETS_CONSTRUCTIONS_NODES_H_
