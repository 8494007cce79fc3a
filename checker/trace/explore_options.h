// The options of an exploration.
#ifndef POWERCUT_CHECKER_TRACE_EXPLORE_OPTIONS_H_
#define POWERCUT_CHECKER_TRACE_EXPLORE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checker/trace/loaded_trace.h"
#include "replayer/executor/executor.h"
#include "replayer/search/query_search.h"

namespace powercut {

class CommandLine;

// The chunks of a trace from number `first` up to `end`, which is not among them.
struct ChunkRange {
  uint64_t first = 0, end = 0;
};

struct ExploreOptions {
  std::string trace;
  std::string strategy = "read-driven";
  std::string model = "adr";
  std::string atoms = "any";
  int nested = 1;
  int lives = 1;
  bool merge_lives = true;  // off: each second life is explored, equal or not
  int jobs = 1;
  uint64_t seed = 1;
  uint64_t samples = 16;
  double budget_seconds = 0;       // 0: none
  uint64_t budget_executions = 0;  // 0: none
  int64_t step_budget = 0;         // 0: by the pool's size
  double watchdog_seconds = 60;    // wall clock for one execution of target code
  double crash_point_seconds = 0;  // and for one crash point; 0: none
  // The run ends at the first finding that needs no power cut.
  bool stop_at_functional = false;
  bool paranoid = false;
  bool list_recovery_sites = false;
  bool remember = true;  // off: every query is run at every leaf
  uint64_t merge_after = QuerySearch::kMergeAfter;
  std::string dump_results;          // file, or empty
  std::string dump_violations;       // file, or empty
  std::string checkpoint;            // file, or empty
  bool resume = false;               // take over what the checkpoint holds
  std::vector<std::string> take;     // other checkpoints, whose chunks are taken over as well
  uint64_t chunk_events = 0;         // 0: by the length of the trace
  std::optional<ChunkRange> chunks;  // these alone; no verdict

  AtomPolicy policy() const { return *atom_policy(atoms); }
};

// Loop turns and calls that one execution may take: `given`, or when that is 0 what lets recovery pass over the
// whole pool a few times, byte by byte. Loops that repeat themselves end long before.
int64_t step_budget(int64_t given, uint64_t pool_size);

// How the trace's target is run under a model. `budget`: as for step_budget().
Executor::Options executor_options(const LoadedTrace& loaded, const std::string& model, AtomPolicy policy,
                                   int64_t budget);

// Options of a command that runs the target in a child.
void add_step_options(CommandLine* command, int64_t* step_budget, double* watchdog_seconds);
// Options that say which images are legal.
void add_model_options(CommandLine* command, std::string* model, std::string* atoms);
// Nothing when the trace's schedules, if it has several, were searched for these: model and atom policy say where a
// power cut matters, and which of the images that it leaves are the same.
std::optional<EngineError> check_search(const LoadedTrace& loaded, const std::string& model, const std::string& atoms);
// Nothing when both exist.
std::optional<EngineError> check_model(const std::string& model, const std::string& atoms, const std::string& command);

// Parses "FIRST:END"; nothing for another text, or for a range without a chunk.
std::optional<ChunkRange> parse_chunks(const std::string& text);

// How many events of the trace a chunk has at least. It follows from the trace and the options, whoever explores.
uint64_t chunk_events(const ExploreOptions& options, uint64_t events);

// Everything that the result of a chunk depends on, for a checkpoint. Not --jobs, nor a budget in seconds.
Json identity_of(const LoadedTrace& loaded, const ExploreOptions& options);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_TRACE_EXPLORE_OPTIONS_H_
