// Where things lie in the pool.
//
//   0      root: 4 lines (Root below)
//   256    PoolAllocator: its line, its table, its units; each level is one block of it
//
// A level is an array of buckets (the paper's Fig. 1b), a bucket is a header of tokens and its slots (Fig. 5). The
// algorithm is compiled for two kinds of slots: slots that hold items (target level), and slots that hold pointers to
// items (target level_ptr).
#ifndef POWERCUT_TARGETS_LEVEL_LAYOUT_H_
#define POWERCUT_TARGETS_LEVEL_LAYOUT_H_

#include <cstdint>

#include "powercut/pmem.h"
#include "targets/common/part_names.h"
#ifdef POWERCUT_LEVEL_POINTERS
#include "targets/level/pointer_slots.h"
#else
#include "targets/level/inline_slots.h"
#endif

namespace powercut::level {

inline constexpr int kDescriptors = 8;  // places of levels that the root can name
inline constexpr int kMaxInterims = 5;  // two levels and five interims leave one place free
inline constexpr int kMaxLevels = 2 + kMaxInterims;
// Bytes. A descriptor keeps log2 of the level's size in the low bits of the offset.
inline constexpr uint64_t kUnit = Geometry::kUnit;

struct Root {
  // Line 0. `magic` is stored last by format: it makes the table exist.
  uint64_t magic;
  uint64_t geometry;  // Geometry::Word(); constant
  uint64_t state;     // State, published by one 8-byte store
  uint64_t unused0[5];
  // Line 1. Offset of a level's block | log2 of its number of buckets. An entry that `state` does not name means
  // nothing, and is written only while it means nothing.
  uint64_t levels[kDescriptors];
  // Line 2. The undo log is valid while this is non-zero: pool offset of the slot under update.
  uint64_t log_slot;
  uint64_t unused1[7];
  // Line 3. The item that was in the slot.
  uint8_t log_item[64];
};
static_assert(sizeof(Root) == 4 * pmem::kLine);

// Which levels the table consists of: indices into Root::levels; top, bottom, interims in order. Interim levels are on
// their way out: an unfinished resize is exactly a state that names one.
using State = PartNames<kMaxLevels>;

// One level as the handle sees it.
struct Level {
  uint8_t* base = nullptr;
  uint64_t mask = 0;   // buckets - 1
  uint64_t items = 0;  // when the counts were settled last; kept for dynamic search only
  int64_t drift = 0;   // change since
  uint8_t log2 = 0;
  uint8_t descriptor = State::kNone;

  uint64_t buckets() const { return mask + 1; }
};

}  // namespace powercut::level
#endif  // POWERCUT_TARGETS_LEVEL_LAYOUT_H_
