// What an exploration came to, as the events that say so: `performance_bug` for each site, then `result`.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_EXPLORE_RESULT_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_EXPLORE_RESULT_H_

#include "base/event_stream.h"
#include "checker/exploration/chunks/workers.h"

namespace powercut {

// The events about performance bugs. `stacks` has read the whole trace.
std::vector<Json> performance_events(const std::vector<PerformanceBug>& rows, const Persisting& persisting,
                                     const TraceReader& stacks);
Json result_event(const LoadedTrace& loaded, const ExploreOptions& options, const Explored& explored, double seconds);

// Of the result of program mode too:

// What a verdict rests on. `judged`: of the build or the recovery that runs on the images. `store_buffers`: threads
// have them.
std::vector<std::string> assumptions(const std::string& model, const std::string& atoms, const std::string& judged,
                                     bool store_buffers, double budget_seconds);
// Why not all crash states were looked at. `sampled`: where it was on purpose; else empty.
template <typename AnyExplored, typename AnyOptions>
std::string reason_of(const AnyExplored& explored, const AnyOptions& options, const std::string& sampled) {
  if (explored.functional) return "it stopped at a bug that needs no power cut; --keep-going goes on";
  if (explored.interrupted) return "interrupted";
  if (explored.out_of_time) {
    return "the budget of " + std::to_string(static_cast<uint64_t>(options.budget_seconds)) + " s was used up";
  }
  if (explored.out_of_executions) {
    return "the budget of " + std::to_string(options.budget_executions) + " executions was used up";
  }
  if (!explored.troubles.empty()) return explored.troubles.front();
  return sampled.empty() ? "some line has more candidates than are explored" : sampled;
}

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_EXPLORE_RESULT_H_
