// What makes a lock-free list durable: the list (list.cc) is the same whichever it is, and calls these at fixed places.
// Each has a file.
//
// Promise of each: when End returns, a power cut can take away nothing of what the operation has done or seen.
//
// No construction fences beside a locked instruction, which is a fence to flushes before it (as in the code of FliT's
// authors).
#ifndef POWERCUT_TARGETS_CONSTRUCTIONS_CONSTRUCTION_H_
#define POWERCUT_TARGETS_CONSTRUCTIONS_CONSTRUCTION_H_

#include <cstdint>

#include "targets/constructions/layout.h"
#include "targets/constructions/options.h"

namespace powercut::constructions {

// What a link is to the operation whose search has ended.
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
  // The search is over. What the operation does and answers rests on this link.
  virtual void RestOn(Role role, const Link* link) {
    static_cast<void>(role);
    static_cast<void>(link);
  }
  // The node is complete, and no link names it yet.
  virtual void Prepare(const Node* node) { pmem::flush(node, sizeof *node); }
  // From `expected` to `desired`, if it is that still.
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
