// Where things lie in the pool.
//
//   0      root: one line
//   64     heads: a link a list
//   then   nodes, a line each, from the next multiple of 64 to the end of the pool
//
// A link is the pool offset of a node, 0 at a list's end, with marks in its low bits: nodes lie at multiples of 64.
#ifndef POWERCUT_TARGETS_CONSTRUCTIONS_LAYOUT_H_
#define POWERCUT_TARGETS_CONSTRUCTIONS_LAYOUT_H_

#include <cstdint>

#include "powercut/pmem.h"

namespace powercut::constructions {

inline constexpr uint64_t kMagic = 0x3154534e4f435750;  // "PWCONST1"

using Link = uint64_t;
inline constexpr Link kErased = 1;     // the node that holds this link is no longer in its list (Harris, DISC 2001)
inline constexpr Link kUnflushed = 2;  // link_and_persist: the link may not be durable yet
inline constexpr Link kMarks = kErased | kUnflushed;

struct Root {
  uint64_t magic;  // stored last by format: it makes the table exist
  uint64_t buckets;
};

// Only `next` changes once a link names the node.
struct alignas(pmem::kLine) Node {
  uint64_t key, value;
  Link next;
};
static_assert(sizeof(Node) == pmem::kLine);

}  // namespace powercut::constructions
#endif  // POWERCUT_TARGETS_CONSTRUCTIONS_LAYOUT_H_
