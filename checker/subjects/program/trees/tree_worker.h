// One worker of a folder: the server of its images, and the commands that are run on them, one image after another.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TREE_WORKER_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TREE_WORKER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/trees/tree_server.h"
#include "checker/subjects/program/workers/program_steps.h"

namespace powercut {

class TreeWorker {
 public:
  // Makes `work`, the folder of the worker's own files. `folder`: the user's folder, in whose place the images are; it
  // is never changed. `commands`: of parse_folder_command(). All arguments outlive this object. Once `cancel` is set,
  // runs end early with an error.
  static Result<std::unique_ptr<TreeWorker>> create(const std::string& work, const std::string& folder,
                                                    const ProgramCommands& commands, Guardian* guardian,
                                                    const std::atomic<bool>* cancel);

  struct Options {
    bool keep_changes = false;
    // The processes have other addresses and another second of the clock, and the inodes other numbers, times and
    // order: an outcome that depends on the image alone is the same.
    bool elsewhere = false;
    bool continued = false;           // the continuation is run behind recovery
    uint64_t first_new = 1ULL << 32;  // number of the first inode that a run makes; the image has none from here on
  };
  struct Ran {
    ProgramOutcome outcome;
    std::vector<Observation> observations;  // of all steps, in order, each once
    // Of `recover`, and of `continue` behind it; with keep_changes.
    std::vector<files::Effect> changes;
    size_t of_recovery = 0;  // of the changes
  };
  // Runs the commands on the tree, which outlives the run and left(). Runs them once more, with second_timeout(), when
  // a command does not end.
  Result<Ran> run(const ImageTree& tree, const Options& options);
  Result<Ran> run(const ImageTree& tree) { return run(tree, {}); }
  // Returns the folder as the last run has left it; the next run may begin meanwhile.
  std::unique_ptr<ImageTree> left() const { return server_->left(); }
  // Sentences about how the commands are run, for the result.
  std::vector<std::string> notes() const { return notes_on(steps_[commands_->continuation ? 1 : 0][0]); }

 private:
  TreeWorker() = default;
  std::vector<ServedStep> make_steps(bool elsewhere, bool continued) const;
  // Has the next run told a time that many seconds later, if an earlier run asked for the time.
  void shift_clock(int seconds);

  std::unique_ptr<TreeServer> server_;  // its mount outlives the servers of the steps
  const ProgramCommands* commands_ = nullptr;
  Guardian* guardian_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
  FileWatch::Place place_ = 0;
  std::string clock_;  // the file that a run makes which asks for the time
  int clock_shift_ = 0, last_shift_ = 0;
  std::vector<ServedStep> steps_[2][2];  // [continued][elsewhere]
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_TREES_TREE_WORKER_H_
