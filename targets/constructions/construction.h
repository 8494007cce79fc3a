// A construction makes a lock-free list durable. The list (list.cc) is the same for all constructions, and calls these
// functions at fixed places. Each construction has a file.
//
// Promise of each construction: when End returns, a power cut can take away nothing that the operation has done or
// seen.
//
// No construction fences beside a locked instruction, which is a fence to flushes before it (as in the code of FliT's
// authors).
#ifndef POWERCUT_TARGETS_CONSTRUCTIONS_CONSTRUCTION_H_
#define POWERCUT_TARGETS_CONSTRUCTIONS_CONSTRUCTION_H_

#include <cstdint>

#include "targets/constructions/layout.h"
#include "targets/constructions/options.h"

namespace powercut::constructions {

// The role of a link for the operation whose search has ended.
enum class Role : uint8_t {
  kParent,  // names the node that holds the left link; there is none where that is the head
  kLeft,    // where a node would be linked in
  kErased,  // in a node that is erased, between the left link and the right node
  kRight,   // in the right node, the first one whose key is not less than the one looked for
};

class Construction {
 public:
  virtual ~Construction() = default;

  // A link as the list knows it, without kUnflushed.
  virtual Link Load(Link* link) = 0;
  // Called after the search: the operation's changes and its answer rest on this link.
  virtual void RestOn(Role role, const Link* link) {
    static_cast<void>(role);
    static_cast<void>(link);
  }
  // The node is complete, and no link names it yet.
  virtual void Prepare(const Node* node) { pmem::flush(node, sizeof *node); }
  // Changes the link from `expected` to `desired` if it still is `expected`. Returns whether the link was changed.
  virtual bool Swap(Link* link, Link expected, Link desired) = 0;
  // The operation is about to return.
  virtual void End() = 0;

 protected:
  static bool CompareAndSwap(Link* link, Link expected, Link desired) {
    return __atomic_compare_exchange_n(link, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
};

// Null: no memory.
Construction* CreateFlit(Bug bug);            // flit.cc
Construction* CreateLinkAndPersist(Bug bug);  // link_and_persist.cc
Construction* CreateNvtraverse(Bug bug);      // nvtraverse.cc

}  // namespace powercut::constructions
#endif  // POWERCUT_TARGETS_CONSTRUCTIONS_CONSTRUCTION_H_
