// Remembers what queries answered, so that a leaf costs what changed since the leaf before it.
//
// A query's exploration is a function of what it loads: the bytes of pool lines (with, where they are undecided,
// the set of values that the alive candidates give them together), words of the target's heap, its globals, and
// the table's address. By induction over the loads, two states that agree on a read set lead to the same loads,
// so to the same branches and results: the first difference would have to lie in the read set.
//   recall()   compares the read sets of earlier runs with the present state and gives their results;
//   affected() leaves out even that comparison for queries whose read set no line was touched of: a line differs
//              from the leaf before only if the trace changed its candidates, or if this or that leaf's recovery
//              wrote it, decided it, or lies under a nested cut through it.
// Results are remembered, never verdicts: obligations change without any store.
#ifndef POWERCUT_REPLAYER_QUERY_MEMORY_H_
#define POWERCUT_REPLAYER_QUERY_MEMORY_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "replayer/executor.h"

namespace powercut {

using QueryId = uint64_t;
using ResultId = uint32_t;

class QueryMemory {
 public:
  explicit QueryMemory(Executor* executor) : executor_(executor) {}

  void forget();
  // Lines whose candidates the trace changed since the last crash point.
  void trace_changed(const std::vector<uint64_t>& lines);

  // Begins a leaf at which `listed` is asked; `version` changes with the list, `context` is the table's address.
  // Returns the queries that may answer otherwise than at the leaf before, in ascending order.
  const std::vector<QueryId>& begin_leaf(const std::vector<QueryId>& listed, uint64_t version, uint64_t context);
  // The results that an earlier run gives in the present state; null when the query has to be run.
  const std::vector<ResultId>* recall(QueryId query);
  // Call after the query ran, with its state undone; its read set is the executor's reads().
  void remember(QueryId query, std::vector<ResultId> results);
  // What the query answered when it was last asked; null when it never was.
  const std::vector<ResultId>* last(QueryId query) const;
  // A query that is kept under watch counts as affected at every leaf.
  void watch(QueryId query, bool on);

 private:
  struct LineRead {
    uint64_t line, mask;
    Signature signature;
  };
  struct WordRead {
    uint64_t address, bits, value;  // of the heap; the value under `bits`
  };
  struct Run {
    std::vector<LineRead> lines;
    std::vector<WordRead> words;
    Signature globals;
    uint64_t context = 0;
    std::vector<ResultId> results;
  };
  struct State {
    std::vector<Run> runs;
    size_t last = 0;      // index of the run that answered last
    bool listed = false;  // in the list at hand
  };

  Executor* executor_;
  absl::flat_hash_map<QueryId, State> states_;
  absl::flat_hash_map<uint64_t, absl::flat_hash_set<QueryId>> by_line_;
  struct WordReaders {
    uint64_t bits = 0;  // what any of them loaded
    absl::flat_hash_set<QueryId> queries;
  };
  absl::flat_hash_map<uint64_t, WordReaders> by_word_;
  absl::flat_hash_set<QueryId> watched_;
  std::vector<QueryId> affected_;
  std::vector<QueryId> listed_;  // the list at hand
  std::vector<uint64_t> touched_before_, from_trace_;
  uint64_t version_ = 0;
  uint64_t context_ = 0;
  Signature globals_;
  std::vector<uint8_t> heap_;  // of the leaf before
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_QUERY_MEMORY_H_
