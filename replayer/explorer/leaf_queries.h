// Asks queries on recovered states, and only those that can answer something that they have not answered before.
//
// The answer of a query is a function of the bytes that the query loads. A recovered state is, for a query, a set of
// possible contents for every line (undecided lines have several), the target's heap and its globals: a *view*. When
// every query was asked on view R and all answers were good, then on view W
//   - a query that reads only lines whose contents in W are among those in R answers nothing new: the images of W
//     are images of R. After a fence, which takes contents away, nothing is therefore asked;
//   - a query that reads one line with new contents answers something new on these contents alone: the images of W
//     that are not images of R show one of them. The query is asked with the line narrowed to the new contents.
// "Reads" is meant by byte: contents that agree under the query's masks count as one content. The masks are those of
// every execution of the query so far; the first load that differs from all earlier executions would have to lie in
// them.
//
// Views that were asked are kept for comparison: the last view of a first cut, and some others. A query whose
// obligation was tightened since is asked again as a whole. A query that was ever answered badly is not compared with
// views of more cuts than the view at hand. Its findings there were told of more cuts than they take.
//
// A bystander (subject.h) reads all that the intruder reads, and would be asked nearly always, for every key. But its
// answer is known if the intruder stores to no byte that the key's first query loads. The query then loads the same
// bytes after the intruder as before, and answers the same. For each view the intruder's stores (its *wake*) are
// therefore kept, and on view W, compared with R, a bystander is asked only
//   - if the intruder was asked, hence does something new, and its stores meet the loads of the key's first query;
//   - or if the first query or the bystander reads something new, and the wake meets these loads in W.
// Both halves must be known from one and the same R: if R covers one half of a pair and R' the other, neither has asked
// the pair.
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
  // Returns whether obligations were tightened and no leaf was asked since.
  bool is_obliged() const { return !obliged_.empty(); }
  // Asks queries at the leaf that the executor stands at. `untouched`: recovery has neither stored nor observed
  // anything, and this is the first cut, so that the leaf's view is the crash point's.
  void visit(int depth, const std::shared_ptr<const RecoveredState>& state, bool untouched);
  // Returns the answers that were judged under the obligations in force, since the query's group was obliged. Needs
  // keep_answers.
  const std::vector<std::string>& answers(QueryId query) const;

 private:
  // Returns whether this leaf is the first leaf under the group's obligations in force.
  bool newly_obliged(uint32_t code) const;
  // Returns the groups that are asked here on all contents, whatever the views say.
  absl::flat_hash_set<uint32_t> asked_whole(int depth) const;
  // Asks the intruder. Returns false if reads of the heap must be followed from now on.
  bool ask_intruder(const absl::flat_hash_set<uint32_t>& whole, int depth);
  void ask_bystanders(const std::vector<LeafViews::Hits>& hits, bool intruder_asked,
                      const absl::flat_hash_set<uint32_t>& whole, int depth);
  // Adds the bytes that the queries leave changed to `wake`, unless null.
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

  // The fields below belong to the crash point at hand.
  std::vector<uint32_t> obliged_;
  bool first_leaf_ = true;
  absl::flat_hash_map<uint64_t, int> asked_;  // digest of a view -> least depth at which it was asked
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_LEAF_QUERIES_H_
