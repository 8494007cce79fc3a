// Runs one query at a leaf down all its branches, and has its answers judged. Answers are kept where the subject wants
// all of them or the options ask for it. A query that ran is run again in other worlds, in a sample: it must give the
// same answer there.
#ifndef POWERCUT_REPLAYER_EXPLORER_QUERY_RUNS_H_
#define POWERCUT_REPLAYER_EXPLORER_QUERY_RUNS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/explorer/explorer.h"
#include "replayer/explorer/leaf_views.h"
#include "replayer/search/query_search.h"

namespace powercut {

class QueryRuns {
 public:
  struct Options {
    bool exact = false;  // every query is judged at every leaf by the caller, so the very sets of answers are kept
    bool keep_answers = false;
    uint64_t merge_after = QuerySearch::kMergeAfter;
  };
  // `image`: the image of the execution at hand. All arguments outlive this object.
  QueryRuns(Executor* executor, Subject* subject, ExplorerCounts* counts, Stopwatch* stopwatch, const Options& options,
            std::function<Image()> image);

  void forget();
  // The leaf that the executor stands at.
  void stand_at(const UndecidedMemory::Mark& leaf) { leaf_ = leaf; }
  const UndecidedMemory::Mark& leaf() const { return leaf_; }
  // Narrows a line to some of its contents, until widen(). The caller calls widen() with memory as narrow() left it.
  void narrow(uint64_t line, std::vector<uint32_t> keep);
  void widen();

  // Runs the query and returns whether all its answers are good. Adds the bytes that the runs leave changed to `wake`,
  // unless null.
  bool run(QueryId query, int depth, Wake* wake);
  // Judges the answer in the buffer: one way of the query at hand has ended with this outcome. Returns whether the
  // answer is good.
  bool judge(int depth, QueryId query, const Outcome& outcome);
  // Finds a branch that gives `wanted` again and reports the image that leads there.
  void explain(int depth, QueryId query, const std::string& wanted);

  // Searches the ways of a query for the caller, with answers in buffer(). `search` is new_search()'s.
  QuerySearch new_search();
  bool search(QuerySearch* search, QueryId query, QuerySearch::Ended ended, uint64_t most = ~uint64_t{0});
  ResultBuffer& buffer() { return buffer_; }
  // Executions of run() so far.
  uint64_t runs() const { return search_.runs(); }

  // Returns the distinct answers of a query since drop_answers(), in the order in which they were given; null if there
  // are none.
  const std::vector<std::string>* answers(QueryId query) const;
  void drop_answers(QueryId query) { answers_.erase(query); }
  // The query is about to run. `anew`: its earlier answers no longer count.
  void begin_answers(QueryId query, bool anew);

 private:
  struct Answers {
    std::vector<std::string> all;
    absl::flat_hash_set<std::string> known;
    void add(std::string answer) {
      if (known.insert(answer).second) all.push_back(std::move(answer));
    }
  };
  void explain_widely(int depth, QueryId query, const std::string& wanted);
  // Runs the query at hand once more, in other worlds, and compares the digest of its answer with `digest`.
  void run_again(const Decisions& decisions, uint64_t digest, uint32_t sources);

  Executor* executor_;
  Subject* subject_;
  ExplorerCounts* counts_;
  Stopwatch* stopwatch_;
  const Options options_;
  std::function<Image()> image_;

  absl::flat_hash_map<QueryId, Answers> answers_;
  UndecidedMemory::Mark leaf_{};
  // The line that is narrowed for the groups at hand, the contents that it keeps, and the leaf before the narrowing.
  struct Narrowing {
    uint64_t line;
    std::vector<uint32_t> keep;
    UndecidedMemory::Mark leaf;
  };
  std::optional<Narrowing> narrowing_;

  ResultBuffer buffer_, second_buffer_;
  std::array<uint64_t, 256> ran_{};  // runs of each kind of query
  uint64_t asking_runs_ = 0;         // runs that asked for something of the world
  QueryId query_ = 0;                // the query that body_ runs
  std::function<void()> body_;
  QuerySearch search_;
  absl::flat_hash_set<uint64_t> seen_;  // digests of one query's answers
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXPLORER_QUERY_RUNS_H_
