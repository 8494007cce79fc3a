// Cleans up after an engine that was killed: a small process in a session of its own that learns of it by the end of a
// pipe, kills what servers are left, puts back the files that they have changed, and removes the work folder.
//
// What a run starts is its server's to end (forkserver/serve.h). Where the server itself was killed, by the run for
// instance, the rest of its processes come to the engine (PR_SET_CHILD_SUBREAPER), which ends them at its end.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_GUARDIAN_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_GUARDIAN_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "checker/subjects/program/processes/file_watch.h"

namespace powercut {

class Guardian {
 public:
  // Makes a private folder in `where`. Call it before this process has threads.
  static Result<std::unique_ptr<Guardian>> start(const std::string& where);
  // Ends whatever processes have come to this one, puts back the files that they have changed, removes the folder, and
  // ends the guarding process.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  const std::string& folder() const { return folder_; }
  // From now on the files beside the images that servers use are looked after (file_watch.h).
  void look_after(const std::vector<OtherFile>& changed, DataFolders data);
  // Null without look_after().
  FileWatch* files() const { return files_.get(); }
  // A process that leads a group of its own, until it was waited for. Any thread.
  void watch(pid_t process);
  void forget(pid_t process);

 private:
  // Shared with the process: a process is named by number and start time, since numbers are used again.
  struct Watched {
    pid_t process;
    unsigned long long started;
  };
  static constexpr size_t kMost = 4096;

  Guardian() = default;
  [[noreturn]] static void keep_watch(int pipe, const Watched* watched, const std::string& folder);

  std::string folder_;
  std::unique_ptr<FileWatch> files_;
  pid_t process_ = -1;
  int pipe_ = -1;
  Watched* watched_ = nullptr;
  std::mutex mutex_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_GUARDIAN_H_
