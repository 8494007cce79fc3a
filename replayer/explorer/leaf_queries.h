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
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/explorer/explorer.h"
#include "replayer/explorer/query_search.h"
#include "replayer/explorer/read_index.h"
#include "replayer/explorer/recovery_trie.h"
#include "replayer/undecided/novelty.h"

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
  void trace_changed(const Frontier::Change& change);
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
  struct GroupState {
    ReadIndex::Reads reads;
    uint32_t stamp = 0;   // of the comparison that hit the group last
    uint64_t line = 0;    // that hit it
    bool narrow = false;  // one line of the pool alone hit it
  };
  // What a line held before the trace changed it.
  struct Since {
    std::vector<Content> contents;
    uint32_t prefix = 0;  // not 0: the first so many contents of the line as it is now
  };
  // What an execution leaves changed: line -> bytes, of pool and heap as in the read index.
  struct Wake {
    absl::flat_hash_map<uint64_t, uint64_t> lines;
    bool globals = false;
    void add(const WriteSet& writes);
    void add(const Wake& other);
    bool empty() const { return lines.empty() && !globals; }
  };
  struct View {
    absl::flat_hash_map<uint64_t, std::vector<Content>> own;  // lines that recovery or nested cuts made different
    absl::flat_hash_map<uint64_t, Since> since;
    std::shared_ptr<const RecoveredState> state;
    std::array<uint32_t, Group::kKinds> groups{};
    int depth = 0;
    std::shared_ptr<const Wake> wake;  // null: there is no intruder
  };
  // The distinct answers of a query, in the order in which they were given.
  struct Answers {
    std::vector<std::string> all;
    absl::flat_hash_set<std::string> known;
    void add(std::string answer) {
      if (known.insert(answer).second) all.push_back(std::move(answer));
    }
  };
  // What may be new compared with one view: the intruder, and keys by their first query or their bystander; ascending.
  struct Hits {
    bool intruder = false;
    std::vector<uint32_t> keys;
  };

  // Whether this leaf is the first one under the group's obligations in force.
  bool newly_obliged(uint32_t code) const;
  GroupState& state_of(uint32_t code);
  // Contents of a line of the pool at the crash point, in the view at hand, and in an earlier one.
  Contents base(uint64_t line) const;
  Contents now(uint64_t line) const;
  Contents then(const View& view, uint64_t line) const;

  void take_view(const std::shared_ptr<const RecoveredState>& state, bool untouched);
  uint64_t view_digest() const;
  // Groups that may answer something new compared with `view`: codes, ascending; also marks them in their states.
  std::vector<uint32_t> differ(const View& view);
  void differ_in(uint64_t line, const Novelty& novelty, bool pool, std::vector<uint32_t>* out);
  void all_groups(std::vector<uint32_t>* out) const;
  Hits hits_of(const View& view, const std::vector<uint32_t>& codes, int depth) const;
  // Whether a hit group may be asked on the new contents of one line alone.
  bool may_narrow(uint32_t code, const absl::flat_hash_set<uint32_t>& whole);
  // Asks the intruder; false when it has turned out that reads of the heap are to be followed from now on.
  bool ask_intruder(const absl::flat_hash_set<uint32_t>& whole, int depth);
  void ask_bystanders(const std::vector<Hits>& hits, bool intruder_asked, const std::vector<uint32_t>& watched,
                      int depth);
  // Asks the bystanders of keys whose first query changes nothing, with one execution of the intruder for all of them.
  // False: the intruder has too many ways for that, or asks the world for something; each is to be asked alone.
  bool ask_together(const std::vector<uint32_t>& keys, int depth);
  std::vector<uint32_t> disturbed(const Wake& wake) const;
  void forget_bystander(uint32_t key);
  void ask(const std::vector<uint32_t>& codes, const absl::flat_hash_set<uint32_t>& whole, int depth);
  void ask_group(uint32_t code, int depth);
  void answer_all(int depth);
  void explain(int depth, QueryId query, const std::string& wanted);
  void explain_widely(int depth, QueryId query, const std::string& wanted);
  // Runs the query at hand once more, in other worlds, and compares its answer with the first one's digest.
  void run_again(const Decisions& decisions, uint64_t digest, uint32_t sources);
  Subject::Judgement run(QueryId query, int depth, Answers* results);
  // Takes the answer in the buffer; returns whether it is good.
  bool judge(int depth, const Outcome& outcome, Answers* results);
  void keep_view(int depth);
  void note_reads(ReadIndex* index, Group group, ReadIndex::Reads* reads);

  Executor* executor_;
  Subject* subject_;
  ExplorerCounts* counts_;
  Stopwatch* stopwatch_;
  const Options options_;
  std::function<Image()> image_;
  const bool exact_;  // every query is judged at every leaf, so the very sets of answers are kept

  const Frontier* frontier_ = nullptr;
  std::array<std::vector<GroupState>, Group::kKinds> groups_;
  ReadIndex index_;
  // What the first queries of keys read, and those that change something themselves; kept while there is an intruder.
  ReadIndex firsts_;
  std::vector<ReadIndex::Reads> first_reads_;
  absl::flat_hash_set<uint32_t> restless_;
  // Reads of the heap are followed from the first time on that it differs between two leaves: in most runs it never
  // does, and they are the most frequent.
  bool heap_followed_ = false, heap_differs_ = false;
  std::vector<View> views_;  // [0]: of a first cut
  size_t next_view_ = 1;
  absl::flat_hash_set<uint32_t> watched_;          // groups with a bad answer
  absl::flat_hash_map<QueryId, Answers> answers_;  // exact_ or keep_answers

  // Of the crash point at hand.
  std::vector<uint32_t> obliged_;
  bool first_leaf_ = true;
  absl::flat_hash_map<uint64_t, int> asked_;  // digest of a view -> least depth at which it was asked

  // Of the leaf at hand.
  absl::flat_hash_map<uint64_t, std::vector<Content>> own_;
  absl::flat_hash_map<uint64_t, Content> before_;  // of touched lines: what the pool held at the first cut
  std::shared_ptr<const RecoveredState> state_;
  std::array<uint32_t, Group::kKinds> count_{};
  uint64_t intruder_runs_ = 0;                     // of the intruder, when it was executed last
  std::shared_ptr<const Wake> wake_;               // of all that the intruder may do here
  std::shared_ptr<const Wake> new_wake_;           // of what it was asked for here
  Wake* taken_ = nullptr;                          // where what the query at hand leaves is gathered; null: nowhere
  absl::flat_hash_map<uint64_t, Novelty> new_in_;  // line -> what is new in it, for narrowing
  uint32_t stamp_ = 0;
  UndecidedMemory::Mark leaf_{};
  // The line that is narrowed for the groups at hand, to which contents; and the leaf without that.
  struct Narrowing {
    uint64_t line;
    std::vector<uint32_t> keep;
    UndecidedMemory::Mark leaf;
  };
  std::optional<Narrowing> narrowing_;

  ResultBuffer second_buffer_;
  std::array<uint64_t, 256> ran_{};  // runs of each kind of query
  uint64_t asking_runs_ = 0;         // of those that asked for something of the world
  ResultBuffer buffer_;
  QuerySearch search_;
  QueryId query_ = 0;
  std::function<void()> body_;
  absl::flat_hash_set<uint64_t> seen_;  // digests of one query's answers
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_LEAF_QUERIES_H_
