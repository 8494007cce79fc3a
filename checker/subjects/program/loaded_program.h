// The common beginning of every command of program mode: the trace, the user's commands, a folder for images.
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

// Adds the options of the trace and of the commands that judge an image.
void add_recovery_options(CommandLine* command, ProgramOptions* options);

// Returns the folder in which a run may keep files of its own.
std::string work_folder(const ProgramOptions& options);
// Reads the commands that judge an image.
using ParseCommand = std::function<Result<Command>(const std::string& json, const std::string& option)>;
Result<ProgramCommands> parse_steps(const ProgramOptions& options, const ParseCommand& parse);

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
  // Returns the model that the trace is explored under, which fits its medium. For a device, "adr", the default,
  // becomes "block".
  Result<std::string> model(const std::string& wanted) const;
  const std::string& folder() const { return guardian_->folder(); }
  // The files beside the images that commands have used.
  const FileWatch& files() const { return *guardian_->files(); }

  // Returns a worker, with images of zeros. `cancel` may be null.
  Result<std::unique_ptr<ImageWorker>> worker(const std::string& name, const std::atomic<bool>* cancel) const;
  // Returns `jobs` workers, named by number.
  Result<std::vector<std::unique_ptr<ImageWorker>>> workers(int jobs, const std::atomic<bool>* cancel) const;
  // Returns the outputs that the dump and the probes print after every prefix; nothing without such commands. Adds the
  // number of runs to `executions`. Asks `goes_on` before each run; returns an error when `goes_on` returns false.
  Result<ExpectedOutputs> expected(
      const std::atomic<bool>* cancel, uint64_t* executions,
      const std::function<bool()>& goes_on = [] { return true; }) const;
  // Returns a follower of the trace's crash points, from the first one on. It makes crash images in `pool`; null: it
  // makes none.
  Result<std::unique_ptr<TraceFollower>> follower(const std::string& model, AtomPolicy policy, uint8_t* pool) const;
  // Returns zeroed memory for follower(), which stays until the process ends.
  Result<uint8_t*> memory() const;
  // Fills the memory with zeros again.
  void clear(uint8_t* memory) const;

 private:
  // Calls `take` with a function that runs the commands on an image, in a worker of that name.
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
