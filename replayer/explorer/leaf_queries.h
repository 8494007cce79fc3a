// Asks queries on recovered states, and only those that can answer something that they have not answered before.
//
// What a query answers is a function of the bytes that it loads. A recovered state is, for a query, a set of possible
// contents for every line (undecided lines have several), the target's heap and its globals: a *view*. When every
// query was asked on view R and all answers were good, then on view W
//   - a query that reads only lines whose contents in W are among those in R answers nothing new: the images of W
//     are images of R. So after a fence, which takes contents away, nothing is asked;
//   - a query that reads one line with new contents answers something new on these contents alone: the images of W
//     that are not images of R show one of them. It is asked with the line narrowed to them.
// "Reads" is meant by byte: contents that agree under the query's masks are one. The masks are those of every
// execution of the query so far; the first load that differs from all earlier executions would have to lie in them.
//
// Views that were asked are kept for comparison: the last one of a first cut, and some others. A query whose obligation
// was tightened since is asked again as a whole. One that was ever answered badly is not compared with views of more
// cuts than the one at hand: what they showed was told of more cuts than it takes.
//
// A bystander (subject.h) reads all that the intruder reads, and so it would be asked nearly always, for every key. But
// its answer is known where the intruder stores to no byte that the key's first query loads: what runs after it loads
// what it loaded before, byte by byte, and answers the same. So the intruder's stores are kept for each view (its
// *wake*), and on view W, compared with R, a bystander is asked only
//   - if the intruder was asked, hence does something new, and its stores meet the loads of the key's first query;
//   - or if the first query or the bystander reads something new, and they meet in W.
// Both must be known from one and the same R: a pair of which R covers one half and R' the other was asked by neither.
#ifndef POWERCUT_REPLAYER_EXPLORER_LEAF_QUERIES_H_
#define POWERCUT_REPLAYER_EXPLORER_LEAF_QUERIES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/explorer/bystanders.h"
#include "replayer/explorer/explorer.h"
#include "replayer/explorer/leaf_views.h"
#include "replayer/explorer/query_runs.h"

namespace powercut {

class LeafQueries {
 public:
  struct Options {
    bool all_definite = false;  // at the first cut the pool holds every line
    bool keep_answers = false;
    uint64_t merge_after = QuerySearch::kMergeAfter;
  };
  // `image`: the image of the execution at hand.
  LeafQueries(Executor* executor, Subject* subject, ExplorerCounts* counts, Stopwatch* stopwatch,
              const Options& options, std::function<Image()> image);

  void forget();
  // The trace changed a line's contents; call it for all changes before the crash point is begun.
  void trace_changed(const Frontier::Change& change) { views_.trace_changed(change); }
  void begin_crash_point(const Frontier& frontier);
  // Whether answers that were legal may no longer be, and no leaf was asked since.
  bool is_obliged() const { return !obliged_.empty(); }
  // Asks at a leaf that the executor stands at. `untouched`: recovery has neither stored nor observed anything, and
  // this is the first cut, so that the view is the crash point's.
  void visit(int depth, const std::shared_ptr<const RecoveredState>& state, bool untouched);
  // The answers that were judged under the obligations in force, since the query's group was obliged; with
  // keep_answers.
  const std::vector<std::string>& answers(QueryId query) const;

 private:
  // Whether this leaf is the first one under the group's obligations in force.
  bool newly_obliged(uint32_t code) const;
  // Groups that are asked here on all contents, whatever the views say.
  absl::flat_hash_set<uint32_t> asked_whole(int depth) const;
  // Asks the intruder; false when it has turned out that reads of the heap are to be followed from now on.
  bool ask_intruder(const absl::flat_hash_set<uint32_t>& whole, int depth);
  void ask_bystanders(const std::vector<LeafViews::Hits>& hits, bool intruder_asked,
                      const absl::flat_hash_set<uint32_t>& whole, int depth);
  // `wake`, unless null, is given what the queries leave changed.
  void ask(const std::vector<uint32_t>& codes, const absl::flat_hash_set<uint32_t>& whole, int depth, Wake* wake);
  void ask_group(uint32_t code, int depth, Wake* wake);
  void answer_all(int depth);

  Executor* executor_;
  Subject* subject_;
  ExplorerCounts* counts_;
  const bool exact_;  // every query is judged at every leaf, so the very sets of answers are kept
  LeafViews views_;
  QueryRuns runs_;
  Bystanders bystanders_;
  absl::flat_hash_set<uint32_t> watched_;  // groups with a bad answer

  // Of the crash point at hand.
  std::vector<uint32_t> obliged_;
  bool first_leaf_ = true;
  absl::flat_hash_map<uint64_t, int> asked_;  // digest of a view -> least depth at which it was asked
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_LEAF_QUERIES_H_
