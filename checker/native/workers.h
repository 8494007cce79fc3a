// Splits the crash points into chunks, explores them in worker processes, and adds up.
//
// Chunks are the same whatever --jobs says, each is explored with nothing remembered from the one before, and
// results are merged in the order of chunks: so a run's result does not depend on how many workers there were
// or which of them was faster. A worker that dies or hangs is replaced; its chunk is done again, and the crash
// point that it died at is given up after the second time (the verdict is then unknown at best).
#ifndef POWERCUT_CHECKER_NATIVE_WORKERS_H_
#define POWERCUT_CHECKER_NATIVE_WORKERS_H_

#include <map>

#include "checker/native/event_stream.h"
#include "checker/native/exploration.h"

namespace powercut {

struct MergedCounts {
  ChunkCounts sum;
  uint64_t leaves = 0;
  std::vector<bool> read_lines;          // by line: some recovery or query read it
  std::map<std::string, Json> findings;  // by key; of equal keys the one at the earliest crash point
  bool interrupted = false, out_of_time = false, out_of_executions = false;
  std::vector<std::string> troubles;  // failures of our own harness
};

// `announce` gets each finding the moment it is known (again, when an earlier crash point shows it); `progress`
// the sums so far, a few times a second.
MergedCounts explore_all(const Session& session, const ExploreOptions& options, uint64_t crash_points,
                         const std::function<void(const Json&)>& announce,
                         const std::function<void(const MergedCounts&)>& progress);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_WORKERS_H_
