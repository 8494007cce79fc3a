// Which bystanders (subject.h) are asked, and how. A bystander can answer something new only where the intruder stores
// to bytes that its key's first query loads; so the stores that the intruder leaves (its *wake*) are met with these
// loads. Where a first query changes nothing itself, one execution of the intruder serves the bystanders of all such
// keys.
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
  // All outlive this.
  Bystanders(Executor* executor, Subject* subject, ExplorerCounts* counts, LeafViews* views, QueryRuns* runs)
      : executor_(executor), subject_(subject), counts_(counts), views_(views), runs_(runs) {}

  void forget();
  // The first query of a key was asked, and left this changed.
  void note_first(uint32_t key, const Wake& left);
  // The intruder was asked at the leaf at hand, with so many executions, and left this changed. `narrow`: it was asked
  // on the new contents of one line alone, and does on the others what it did before.
  void intruded(std::shared_ptr<Wake> left, bool narrow, uint64_t runs);
  // The wake of the leaf at hand, for its view; null where there is no intruder.
  const std::shared_ptr<const Wake>& wake() const { return wake_; }

  // Keys whose bystander may answer something new at the leaf at hand. `hits`: by view that was compared with;
  // `watched`: keys that are asked wherever they may be disturbed.
  std::vector<uint32_t> keys(const std::vector<LeafViews::Hits>& hits, bool intruder_asked,
                             const std::vector<uint32_t>& watched);
  // Asks those among `keys` that can be asked together, takes them from the list, and returns the groups of those that
  // were answered badly. `drops` says whether a group's earlier answers no longer count.
  std::vector<uint32_t> ask_together(std::vector<uint32_t>* keys, int depth,
                                     const std::function<bool(uint32_t code)>& drops);

 private:
  struct Shared;
  // Keys whose first query loads bytes that were stored.
  std::vector<uint32_t> disturbed(const Wake& wake) const;

  Executor* executor_;
  Subject* subject_;
  ExplorerCounts* counts_;
  LeafViews* views_;
  QueryRuns* runs_;
  // What the first queries of keys read, and those that change something themselves.
  ReadIndex firsts_;
  std::vector<ReadIndex::Reads> first_reads_;
  absl::flat_hash_set<uint32_t> restless_;

  // Of the leaf at hand.
  uint64_t intruder_runs_ = 0;            // of the intruder, when it was executed last
  std::shared_ptr<const Wake> wake_;      // of all that the intruder may do here
  std::shared_ptr<const Wake> new_wake_;  // of what it was asked for here
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_BYSTANDERS_H_
