// One process's exploration of a trace: crash points by number, in ascending chunks.
#ifndef POWERCUT_CHECKER_NATIVE_EXPLORATION_H_
#define POWERCUT_CHECKER_NATIVE_EXPLORATION_H_

#include <atomic>
#include <fstream>
#include <functional>
#include <optional>
#include <set>

#include "checker/native/finding.h"
#include "checker/native/session.h"

namespace powercut {

struct ExploreOptions {
  std::string trace;
  std::string strategy = "read-driven";
  std::string model = "adr";
  std::string atoms = "any";
  int nested = 1;
  int jobs = 1;
  uint64_t seed = 1;
  uint64_t samples = 16;
  double budget_seconds = 0;       // 0: none
  uint64_t budget_executions = 0;  // 0: none
  int64_t step_budget = 0;         // 0: by the pool's size
  double watchdog_seconds = 120;   // wall clock for one crash point
  bool paranoid = false;
  bool remember = true;      // off: every query is run at every leaf
  std::string dump_results;  // file, or empty

  AtomPolicy policy() const { return *atom_policy(atoms); }
};

// Loop turns and calls that one execution may take: `given`, or when that is 0 what lets recovery pass over the
// whole pool a few times.
int64_t step_budget(int64_t given, uint64_t pool_size);

// What a chunk of crash points came to. Sums over chunks do not depend on who explored them.
struct ChunkCounts {
  uint64_t crash_points = 0;
  uint64_t executions = 0, query_runs = 0, query_answers = 0, loads = 0;
  BigInt covered = 0;
  double exploring_seconds = 0;  // wall clock inside crash points: recovery, queries, undo
  bool complete = true;          // strategy and candidate sets left nothing out
  bool stopped = false;          // by a signal or the budget, before the chunk's end
  std::string distrust;          // why this process cannot be trusted any more
};

class Exploration {
 public:
  using Report = std::function<void(uint64_t ordinal, const Json& finding)>;
  Exploration(const Session& session, const ExploreOptions& options, std::unique_ptr<TraceReader> reader,
              Report report);

  // Explores crash points [first, last), which must lie after those explored before. `begin(ordinal)` is
  // called before each and returns false to stop there. Crash points in `skip` are passed over.
  ChunkCounts explore(uint64_t first, uint64_t last, const std::set<uint64_t>& skip,
                      const std::function<bool(uint64_t)>& begin);
  // Distinct leaves found since the last call.
  std::vector<uint64_t> take_leaves();
  bool ever_read(uint64_t line) const { return executor_.ever_read(line); }

 private:
  void visit(const Instant& instant);

  const ExploreOptions& options_;
  std::unique_ptr<TraceReader> reader_;
  std::unique_ptr<Model> model_;
  TraceWalk walk_;
  Executor executor_;
  Frontier frontier_;
  LineTimeline timeline_;
  FrameResolver frames_;
  std::unique_ptr<Strategy> strategy_;
  Oracle oracle_;
  Explorer explorer_;
  Report report_;
  std::ofstream dump_;

  // Of the chunk at hand.
  uint64_t first_ = 0, last_ = 0;
  const std::set<uint64_t>* skip_ = nullptr;
  const std::function<bool(uint64_t)>* begin_ = nullptr;
  ChunkCounts counts_;
  const Instant* instant_ = nullptr;
  absl::flat_hash_set<uint64_t> leaves_sent_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_EXPLORATION_H_
