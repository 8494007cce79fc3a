// Leads one walk through the trace, has its chunks explored in worker processes on the way, and adds up their results.
//
// The walk takes the survey. Where a chunk begins, the walk forks a worker and goes on to the next chunk. The worker
// inherits model, history, pool and timelines as they are at that instant, and goes on alone. The walk holds --jobs
// workers at most and waits when there are as many. Results are merged in the order of chunks: a run's result depends
// neither on the number of workers nor on which worker was faster.
//
// A worker that dies or hangs loses its chunk. The walk may be further by then, so another worker walks from the start
// of the trace to the chunk and does the chunk again. After the second death at a crash point, that crash point is
// given up, and the verdict is then unknown at best. The chunk is given up when its worker dies even so. A chunk whose
// worker hangs is not tried again. The exploration ends there, since a recovery that blocks once blocks at every crash
// point, each time for as long as the watchdog waits.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_WORKERS_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_WORKERS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "checker/exploration/chunks/checkpoint.h"
#include "checker/exploration/ended.h"
#include "checker/exploration/survey.h"
#include "checker/trace/explore_options.h"

namespace powercut {

struct Explored : Ended {
  Survey survey;
  bool has_range = false;  // each of the chunks that alone were asked for is finished, as far as the trace has them
  bool surveyed = false;   // the walk reached the end of the trace: the survey is of all of it
  ChunkCounts sum;
  uint64_t leaves = 0;
  std::vector<uint64_t> read_lines;  // bitmap by line: some recovery or query read it
  std::vector<uint64_t> reached;     // bitmap of reached_stores()
  std::map<std::string, Maximum> maxima;
  RecoverySites recovery_sites;
  std::map<std::string, Json> findings;  // by key; among equal keys, the finding at the earliest crash point
  uint32_t sources = 0;                  // WorldSources that target code asked for, and that made no difference
  std::vector<std::string> notes;
  // Wall clock of this process, by activity: "walk" decodes and follows the model, "fork" starts workers, "wait" has as
  // many workers as --jobs allows.
  std::map<std::string, double> seconds;
};

struct SoFar {
  uint64_t crash_points = 0, of = 0;  // `of` is an estimate until the walk is at its end
  BigInt covered = 0;
  uint64_t executions = 0;
  size_t findings = 0;
};

struct ExploreListener {
  // Called with each finding the moment it is known, and again when an earlier crash point shows the finding.
  std::function<void(const Json&)> found;
  // Called a few times a second.
  std::function<void(const SoFar&)> progressed;
  // Called with each finished chunk, also with chunks of the checkpoint, in the order of time.
  std::function<void(const ChunkResult&)> finished;
};

// `follower` stands at the start of the trace, in the mapped pool, and afterwards at its end. If the run was
// interrupted, or asked for some chunks alone, the follower stops earlier and there is no survey. `checkpoint` may be
// null. Errors: the trace cannot be read.
Result<Explored> explore_all(const LoadedTrace& loaded, const ExploreOptions& options, TraceFollower* follower,
                             Checkpoint* checkpoint, const ExploreListener& listener);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_WORKERS_H_
