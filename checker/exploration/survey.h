// The facts that a walk over the trace tells with the model alone: the number of crash points and crash states, the
// lines that were written, and performance bugs.
#ifndef POWERCUT_CHECKER_EXPLORATION_SURVEY_H_
#define POWERCUT_CHECKER_EXPLORATION_SURVEY_H_

#include <string>
#include <vector>

#include "checker/exploration/performance_bugs.h"
#include "checker/trace/explore_options.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

struct Survey {
  std::string searched;  // of a tree of schedules: its coverage (tracer/format/FORMAT.md)
  uint64_t crash_points = 0;
  BigInt crash_states = 0;
  std::vector<PerformanceBug> performance_bugs;
  Persisting persisting;
  std::vector<uint64_t> written_lines;  // ascending
};

// Takes the survey beside a walk over the trace: call saw() for every event and count_states() for every crash point.
class Surveyor {
 public:
  // `follower` outlives this.
  Surveyor(const TraceFollower* follower, uint64_t lines);
  void saw(const Event& event);
  // Precondition: the follower stands at a crash point and has followed the model to it.
  void count_states() {
    if (!follower_->trouble()) survey_.crash_states += follower_->frontier().states();
  }
  const BigInt& crash_states() const { return survey_.crash_states; }
  // Returns the survey. Call finish() at the end of the walk.
  Survey finish();

 private:
  const TraceFollower* follower_;
  PerformanceBugs performance_bugs_;
  std::vector<bool> written_;
  Survey survey_;
};

// Walks the whole trace for the survey alone. Errors: the trace cannot be read.
Result<Survey> survey(const LoadedTrace& loaded, const ExploreOptions& options);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_SURVEY_H_
