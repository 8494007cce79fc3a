// One process's exploration of one chunk of crash points, from the instant that its follower stands at.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_EXPLORATION_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_EXPLORATION_H_

#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checker/exploration/chunks/chunk_result.h"
#include "checker/exploration/likely_images.h"
#include "checker/subjects/library/functional_check.h"
#include "checker/subjects/library/least_image.h"
#include "checker/trace/explore_options.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

class Exploration {
 public:
  using Report = FunctionalCheck::Report;
  // Where the exploration stands, for progress events.
  struct Reached {
    uint64_t ordinal = 0;
    uint64_t crash_points = 0, executions = 0;  // done
    const BigInt& covered;
  };
  // Called before each crash point; returns false to stop there.
  using Watch = std::function<bool(const Reached&)>;

  // All arguments outlive this; the pool is mapped. `after_each` is called after each execution of target code, in
  // every process in which it ended. Once `stop` is set the exploration ends, in the middle of a crash point.
  Exploration(const LoadedTrace& loaded, const ExploreOptions& options, TraceFollower* follower, Report report,
              const std::function<void()>& after_each, const std::atomic<bool>* stop);

  // Explores the chunk. Precondition: the follower stands at the chunk's first crash point and has not followed the
  // model to it. Crash points in `skip` are passed over.
  ChunkResult explore(const Chunk& chunk, const std::set<uint64_t>& skip, const Watch& watch);

 private:
  void visit(const Instant& instant, const Watch& watch);
  // Tries the images of a large crash point that most likely show a wrong answer, and tells of the answers found.
  void look_first(const Watch& watch);
  // Reports the trouble of a schedule that went wrong with no power cut.
  void tell_trouble();
  // Reports the violations that the crash point at hand has shown, each on its least image.
  void tell(const Watch& watch);
  // False for a violation that a lookup shows on the same image.
  bool put_on_least_image(const LineSets& legal, Exposure* exposure);
  Reached reached() const;
  // Follows the trace, without exploring, until the waiting findings are told.
  void settle_findings();
  // Notes each maximum that this crash point has raised within the chunk.
  void note_maxima(const Instant& instant);
  void write_violations() const;

  const LoadedTrace& loaded_;
  const ExploreOptions& options_;
  TraceFollower* follower_;
  Executor executor_;
  FrameResolver frames_;
  std::unique_ptr<Strategy> strategy_;
  Oracle oracle_;
  std::vector<Exposure> exposures_;  // of the crash point at hand
  LeastImage least_;
  FunctionalCheck functional_;
  LikelyImages likely_;
  const Watch* watch_ = nullptr;  // of the chunk at hand
  std::unique_ptr<Explorer> explorer_;
  std::ofstream dump_;
  ChunkResult result_;
  double exploring_seconds_ = 0;  // wall clock inside crash points
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_EXPLORATION_H_
