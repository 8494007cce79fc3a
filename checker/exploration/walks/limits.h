// Whether the walks go on. A budget ends the walks, or an interruption, or the first functional bug where the user
// asked for a stop there. Walks also end where nothing more can be told: too much time went into runs that do not end,
// or the harness failed.
#ifndef POWERCUT_CHECKER_EXPLORATION_WALKS_LIMITS_H_
#define POWERCUT_CHECKER_EXPLORATION_WALKS_LIMITS_H_

#include <chrono>

#include "checker/exploration/walks/explored.h"
#include "checker/subjects/program/options.h"
#include "checker/subjects/program/workers/image_workers.h"

namespace powercut {

class Limits {
 public:
  // The clock starts here. All arguments outlive this object.
  Limits(const ProgramOptions& options, const ProgramListener& listener, const ImageWorkers* workers,
         ProgramExplored* out)
      : options_(options), listener_(listener), workers_(workers), out_(out) {}

  double seconds() const;
  // Whether the budget of time has ended: a run that fails then may have been cancelled for this reason.
  bool late() const { return options_.budget_seconds > 0 && seconds() >= options_.budget_seconds; }
  // Whether there is nothing more to do; notes the reason.
  bool stopped();
  // Notes the error as an interruption or a trouble. Returns false.
  bool ended_by(const EngineError& error);

 private:
  const ProgramOptions& options_;
  const ProgramListener& listener_;
  const ImageWorkers* workers_;
  ProgramExplored* out_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_WALKS_LIMITS_H_
