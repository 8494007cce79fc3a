// Runs a query down all its branches: one execution for each branch, and merged ways if the branches are many
// (merged_search.h).
#ifndef POWERCUT_REPLAYER_SEARCH_QUERY_SEARCH_H_
#define POWERCUT_REPLAYER_SEARCH_QUERY_SEARCH_H_

#include <functional>

#include "replayer/search/merged_search.h"

namespace powercut {

class QuerySearch {
 public:
  // Executions of one query before its ways are merged: most queries take one or two. kNever: one execution for each
  // way, the reference.
  static constexpr uint64_t kMergeAfter = 16, kNever = ~uint64_t{0};

  // Both arguments outlive this object. Queries write their answers to `answer`.
  QuerySearch(Executor* executor, ResultBuffer* answer) : executor_(executor), answer_(answer) {}

  // Called where a way has ended, with memory as the way left it. `decisions` lead to this end again; null where ways
  // are merged. Returns whether to go on.
  using Ended = absl::FunctionRef<bool(Outcome*, const Decisions* decisions)>;
  // Runs all ways of `query`. `most`: number of executions and stretches after which the search stops. Returns false if
  // the search has stopped at this number, or because the executor is to leave off.
  bool run(const std::function<void()>& query, Ended ended, uint64_t most = ~uint64_t{0});

  // Returns the number of executions and stretches by all searches so far.
  uint64_t runs() const { return executions_ + merged_.stretches; }

  void merge_after(uint64_t executions) { merge_after_ = executions; }

 private:
  Executor* executor_;
  ResultBuffer* answer_;
  Decisions decisions_;
  uint64_t merge_after_ = kMergeAfter;
  uint64_t executions_ = 0;
  MergedSearch::Counts merged_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SEARCH_QUERY_SEARCH_H_
