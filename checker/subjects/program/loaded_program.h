// What every command of program mode begins with: the trace, the user's commands, a folder for images.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_LOADED_PROGRAM_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_LOADED_PROGRAM_H_

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checker/subjects/program/options.h"
#include "checker/subjects/program/outputs/expected_outputs.h"
#include "checker/subjects/program/processes/guardian.h"
#include "checker/subjects/program/workers/image_workers.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

class CommandLine;

// Options of the trace and of the commands that judge an image.
void add_recovery_options(CommandLine* command, ProgramOptions* options);

class LoadedProgram {
 public:
  // Reads the trace once and starts the guardian: call it before the process has threads. From here on a command that
  // crashes leaves no core file.
  static Result<std::unique_ptr<LoadedProgram>> open(const ProgramOptions& options);

  const TracePools& pools() const { return pools_; }
  const ProgramCommands& commands() const { return commands_; }
  const std::vector<TraceModule>& modules() const { return modules_; }
  uint64_t events() const { return events_; }
  // Threads that have stored to a pool.
  size_t threads() const { return storing_.size(); }
  // The model that the trace is explored under: that of its medium. "adr", the default, is of a device "block".
  Result<std::string> model(const std::string& wanted) const;
  const std::string& folder() const { return guardian_->folder(); }
  // The files beside the images that commands have used.
  const FileWatch& files() const { return *guardian_->files(); }

  // A worker, with images of zeros. `cancel` may be null.
  Result<std::unique_ptr<ImageWorker>> worker(const std::string& name, const std::atomic<bool>* cancel) const;
  // As many as `jobs`, named by number.
  Result<std::vector<std::unique_ptr<ImageWorker>>> workers(int jobs, const std::atomic<bool>* cancel) const;
  // What the dump and the probes print after every prefix; nothing without them. Adds to `executions` how often they
  // were run. Asks `goes_on` before each run; an error where it says no.
  Result<ExpectedOutputs> expected(
      const std::atomic<bool>* cancel, uint64_t* executions,
      const std::function<bool()>& goes_on = [] { return true; }) const;
  // The trace's crash points, from the first one on, with crash images made in `pool`: null to make none.
  Result<std::unique_ptr<TraceFollower>> follower(const std::string& model, AtomPolicy policy, uint8_t* pool) const;
  // Zeroed memory for follower(); it stays until the process ends.
  Result<uint8_t*> memory() const;
  // It is zeros again.
  void clear(uint8_t* memory) const;

 private:
  // `take` is given what runs the commands on an image, in a worker of that name.
  Result<ExpectedOutputs> observed(
      const std::string& name, const std::atomic<bool>* cancel, uint64_t* executions,
      const std::function<bool()>& goes_on,
      const std::function<Result<ExpectedOutputs>(const ExpectedOutputs::Observe&)>& take) const;

  std::string trace_;
  TracePools pools_;
  ProgramCommands commands_;
  std::vector<TraceModule> modules_;
  uint64_t events_ = 0;
  std::set<uint32_t> storing_;  // their numbers
  bool explored_at_start_ = true;
  std::unique_ptr<Guardian> guardian_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_LOADED_PROGRAM_H_
