// The common beginning of every command on a recorded folder: the user's commands, and workers that run them on trees.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_LOADED_FOLDER_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_LOADED_FOLDER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "checker/subjects/program/loaded_program.h"
#include "checker/subjects/program/trees/tree_worker.h"

namespace powercut {

class LoadedFolder {
 public:
  // `folder`: the user's folder. Starts the guardian: call it before the process has threads. From here on a command
  // that crashes leaves no core file.
  static Result<std::unique_ptr<LoadedFolder>> open(const ProgramOptions& options, const std::string& folder);

  const ProgramCommands& commands() const { return commands_; }
  // The files beside the folder that commands have used.
  const FileWatch& files() const { return *guardian_->files(); }
  // Returns `jobs` workers. `cancel` may be null.
  Result<std::vector<std::unique_ptr<TreeWorker>>> workers(int jobs, const std::atomic<bool>* cancel) const;
  // Returns the permissions that a path below the folder has now; the usual ones if it is not there any more.
  uint32_t mode(const std::string& path, InodeKind kind) const;

 private:
  std::string folder_;
  ProgramCommands commands_;
  std::unique_ptr<Guardian> guardian_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_LOADED_FOLDER_H_
