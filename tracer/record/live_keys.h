// The keys that are in the table. A mix draws among them.
//
// Keys stay in the order of their insertion; an erased key leaves a gap. The list is compacted when more than half of
// it is gaps. Every operation therefore costs O(1) amortised, and a draw passes few gaps.
//   uniform   every live key alike
//   zipfian   rank by Gray et al., "Quickly generating billion-record synthetic databases" (SIGMOD 1994), as
//             YCSB does, then scrambled: position mix(rank) mod n, so that popular keys lie anywhere
//   latest    the same rank counted back from the newest key (YCSB D)
// Known inaccuracies: n counts gaps; a zipfian draw that meets a gap is scrambled again, a latest one takes
// the next older live key; and, as in YCSB, scrambling by a growing n moves the popular keys when keys are
// inserted, and may map two ranks to one key.
#ifndef POWERCUT_TRACER_RECORD_LIVE_KEYS_H_
#define POWERCUT_TRACER_RECORD_LIVE_KEYS_H_

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <vector>

#include "tracer/record/plan.h"
#include "tracer/record/random.h"

namespace powercut {

// Draws ranks 0..n-1 with probability proportional to 1 / (rank + 1)^theta.
class Zipfian {
 public:
  explicit Zipfian(double theta);
  double theta() const { return theta_; }
  // Precondition: n > 0. The time is proportional to the difference between n and the n of the draw before.
  uint64_t draw(uint64_t n, Random& random);

 private:
  void prepare(uint64_t n);

  double theta_, alpha_, second_;  // second_: 1 + 0.5^theta, the sum for n = 2
  uint64_t n_ = 0;
  double zeta_ = 0;  // sum of 1 / i^theta for i = 1..n_
  double eta_ = 0;
};

class LiveKeys {
 public:
  bool contains(uint64_t key) const { return positions_.contains(key); }
  uint64_t size() const { return positions_.size(); }
  void insert(uint64_t key);
  void erase(uint64_t key);
  // Precondition: size() > 0.
  uint64_t draw(Distribution distribution, double theta, Random& random);

 private:
  void compact();

  static constexpr uint64_t kGap = 0;
  std::vector<uint64_t> order_;
  absl::flat_hash_map<uint64_t, uint64_t> positions_;  // invariant: order_[positions_[key]] == key
  Zipfian zipfian_{0.99};
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_LIVE_KEYS_H_
