// The block with the fewest live pages, of those that are full. Every operation takes constant time but Fewest(), which
// looks past empty buckets.
#ifndef POWERCUT_TARGETS_COMMON_FTL_VICTIMS_H_
#define POWERCUT_TARGETS_COMMON_FTL_VICTIMS_H_

#include <cstdint>
#include <vector>

#include "targets/common/ftl/medium.h"

namespace powercut::ftl {

class Victims {
 public:
  explicit Victims(const Geometry& geometry) : first_(geometry.pages_per_block + 1, kNone), of_(geometry.blocks) {}

  void Add(uint32_t block, uint32_t live) {
    Entry& entry = of_[block];
    entry = {.live = live, .before = kNone, .after = first_[live]};
    if (entry.after != kNone) of_[entry.after].before = block;
    first_[live] = block;
  }
  void Remove(uint32_t block) {
    Entry& entry = of_[block];
    if (entry.before != kNone) of_[entry.before].after = entry.after;
    if (entry.before == kNone) first_[entry.live] = entry.after;
    if (entry.after != kNone) of_[entry.after].before = entry.before;
    entry.live = kNone;
  }
  bool Has(uint32_t block) const { return of_[block].live != kNone; }
  // kNone if there is no block.
  uint32_t Fewest() const {
    for (const uint32_t block : first_) {
      if (block != kNone) return block;
    }
    return kNone;
  }

 private:
  struct Entry {
    uint32_t live = kNone, before = kNone, after = kNone;
  };
  std::vector<uint32_t> first_;  // by live pages
  std::vector<Entry> of_;
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_VICTIMS_H_
