// One run for each allocation of a recorded scenario, in which that allocation fails. The target must answer an error
// (or do without) and stay right while it lives. The trace goes to a file, so that every crash state of it can be
// explored like any other run.
//
// The traces are explored from the operation in which the allocation fails: until there, they are the recorded
// run's.
#ifndef POWERCUT_CHECKER_FAULTS_FAULT_ALLOCATIONS_H_
#define POWERCUT_CHECKER_FAULTS_FAULT_ALLOCATIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "checker/faults/allocation_attempt.h"

namespace powercut {

class AllocationFaults {
 public:
  // All arguments outlive this. `wrote` hears of each finished trace.
  AllocationFaults(const LoadedTrace& loaded, const FaultOptions& options, FaultReport* report, Progress* progress,
                   std::function<void(const std::string& trace, const std::string& subject)> wrote);
  std::optional<EngineError> run();

 private:
  std::optional<EngineError> fail(AllocationAttempt::Failure failure);

  const LoadedTrace& loaded_;
  const FaultOptions& options_;
  FaultReport* report_;
  Progress* progress_;
  std::function<void(const std::string&, const std::string&)> wrote_;
  Executor executor_;
  std::vector<RecordedOperation> operations_;
  AllocationAttempt::Excused excused_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_FAULT_ALLOCATIONS_H_
