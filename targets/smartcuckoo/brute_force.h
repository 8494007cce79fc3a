// Whether an insertion can succeed, found out the hard way, for the test and the fidelity program: knows nothing of
// the forest, only which items are where.
#ifndef POWERCUT_TARGETS_SMARTCUCKOO_BRUTE_FORCE_H_
#define POWERCUT_TARGETS_SMARTCUCKOO_BRUTE_FORCE_H_

#include <cstdint>
#include <vector>

#include "targets/smartcuckoo/layout.h"

namespace powercut::smartcuckoo {

class BruteForce {
 public:
  explicit BruteForce(uint32_t buckets) : held_(buckets, kVacant) {}

  // Returns whether a kick-out path out of one of the two positions ends at a vacancy. Tries both positions, with the
  // items at their present places.
  bool KickOutsSucceed(const Positions& at) const { return PathEnds(at.first) || PathEnds(at.second); }

  // Returns whether any placement of all items and of the new item exists, wherever the items are now. A bipartite
  // matching.
  bool PlacementExists(const Positions& at) {
    std::vector<Positions> items = items_;
    items.push_back(at);
    std::vector<uint32_t> holder(held_.size(), kVacant);
    std::vector<uint32_t> seen(held_.size(), 0);
    for (uint32_t i = 0; i < items.size(); ++i) {
      if (!Augment(items, i, i + 1, &holder, &seen)) return false;
    }
    return true;
  }

  // Notes an item of the table under test; called once for each occupied bucket.
  void Hold(uint32_t bucket, const Positions& item) {
    held_[bucket] = static_cast<uint32_t>(items_.size());
    items_.push_back(item);
  }

 private:
  static constexpr uint32_t kVacant = ~uint32_t{0};

  bool PathEnds(uint32_t bucket) const {
    // A path longer than the number of buckets has met a bucket twice.
    for (size_t steps = 0; steps <= held_.size(); ++steps) {
      if (held_[bucket] == kVacant) return true;
      bucket = items_[held_[bucket]].Other(bucket);
    }
    return false;
  }

  static bool Augment(const std::vector<Positions>& items, uint32_t item, uint32_t round, std::vector<uint32_t>* holder,
                      std::vector<uint32_t>* seen) {
    for (uint32_t bucket : {items[item].first, items[item].second}) {
      if ((*seen)[bucket] == round) continue;
      (*seen)[bucket] = round;
      if ((*holder)[bucket] == kVacant || Augment(items, (*holder)[bucket], round, holder, seen)) {
        (*holder)[bucket] = item;
        return true;
      }
    }
    return false;
  }

  std::vector<uint32_t> held_;  // item of each bucket
  std::vector<Positions> items_;
};

}  // namespace powercut::smartcuckoo
#endif  // POWERCUT_TARGETS_SMARTCUCKOO_BRUTE_FORCE_H_
