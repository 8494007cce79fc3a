// The crash states of the instant that a model stands at: the definite bytes in the pool, the rest as sets.
// Follows the model line by line, so that a crash point costs what changed since the last one.
#ifndef POWERCUT_REPLAYER_FRONTIER_H_
#define POWERCUT_REPLAYER_FRONTIER_H_

#include <memory>

#include "absl/container/btree_map.h"
#include "replayer/executor.h"
#include "replayer/models/model.h"
#include "replayer/strategies/strategy.h"

namespace powercut {

class Frontier {
 public:
  // `pool` may be null: then only the sets are kept (counting).
  explicit Frontier(uint8_t* pool) : pool_(pool) {}

  // Returns the lines whose candidates may have changed.
  std::vector<uint64_t> follow(Model* model);
  LineSets sets() const;
  const LineSet* find(uint64_t line) const;
  BigInt states() const { return state_count(sets()); }
  // Some line has more candidates than are kept, so the sets are a part of what is legal.
  bool truncated() const { return truncated_ > 0; }

 private:
  struct Entry {
    LineSet set;
    bool truncated;
  };
  uint8_t* pool_;
  absl::btree_map<uint64_t, std::unique_ptr<Entry>> lines_;
  size_t truncated_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_FRONTIER_H_
