// Chooses the bystanders (subject.h) that are asked, and asks them. A bystander can answer something new only where the
// intruder stores to bytes that its key's first query loads; so the stores that the intruder leaves (its *wake*) are
// intersected with these loads. If the first queries of some keys change nothing, one execution of the intruder serves
// the bystanders of all these keys.
#ifndef POWERCUT_REPLAYER_EXPLORER_BYSTANDERS_H_
#define POWERCUT_REPLAYER_EXPLORER_BYSTANDERS_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "replayer/explorer/leaf_views.h"
#include "replayer/explorer/query_runs.h"

namespace powercut {

class Bystanders {
 public:
  // All arguments outlive this object.
  Bystanders(Executor* executor, Subject* subject, ExplorerCounts* counts, LeafViews* views, QueryRuns* runs)
      : executor_(executor), subject_(subject), counts_(counts), views_(views), runs_(runs) {}

  void forget();
  // Tells that the first query of a key was asked, and that the query left the bytes `left` changed.
  void note_first(uint32_t key, const Wake& left);
  // Tells that the intruder was asked at the leaf at hand, took `runs` executions, and left the bytes `left` changed.
  // `narrow`: the intruder was asked on the new contents of one line alone; on the other contents its stores are known.
  void intruded(std::shared_ptr<Wake> left, bool narrow, uint64_t runs);
  // The wake of the leaf at hand, for its view; null where there is no intruder.
  const std::shared_ptr<const Wake>& wake() const { return wake_; }

  // Returns the keys whose bystander may answer something new at the leaf at hand. `hits`: one entry for each view that
  // the leaf was compared with; `watched`: keys that are asked wherever the intruder may disturb them.
  std::vector<uint32_t> keys(const std::vector<LeafViews::Hits>& hits, bool intruder_asked,
                             const std::vector<uint32_t>& watched);
  // Asks the bystanders among `keys` that can be asked together, and removes their keys from the list. Returns the
  // groups of the bystanders that were answered badly. `drops` says whether a group's earlier answers no longer count.
  std::vector<uint32_t> ask_together(std::vector<uint32_t>* keys, int depth,
                                     const std::function<bool(uint32_t code)>& drops);

 private:
  struct Shared;
  // Returns the keys whose first query loads bytes of `wake`, or changes something itself.
  std::vector<uint32_t> disturbed(const Wake& wake) const;

  Executor* executor_;
  Subject* subject_;
  ExplorerCounts* counts_;
  LeafViews* views_;
  QueryRuns* runs_;
  // The reads of the first queries, by line and by key; and the keys whose first query changes something itself.
  ReadIndex firsts_;
  std::vector<ReadIndex::Reads> first_reads_;
  absl::flat_hash_set<uint32_t> restless_;

  // The fields below belong to the leaf at hand.
  uint64_t intruder_runs_ = 0;            // executions of the intruder's last run
  std::shared_ptr<const Wake> wake_;      // all that the intruder may change here
  std::shared_ptr<const Wake> new_wake_;  // changes on the contents that were asked here
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_BYSTANDERS_H_
