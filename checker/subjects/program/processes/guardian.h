// Cleans up after an engine that was killed. A small process in a session of its own learns of the engine's death by
// the end of a pipe. It kills the servers that are left, puts back the files that they have changed, and removes the
// work folder.
//
// A server ends the processes that its runs start (forkserver/serve.h). If the server itself was killed, for instance
// by the run, its other processes come to the engine (PR_SET_CHILD_SUBREAPER). The engine ends them at its own end.
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
  // Makes a private folder in `where`. Call start() before this process has threads.
  static Result<std::unique_ptr<Guardian>> start(const std::string& where);
  // Ends whatever processes have come to this one, puts back the files that they have changed, removes the folder, and
  // ends the guarding process.
  ~Guardian();
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;

  const std::string& folder() const { return folder_; }
  // Begins to look after the files beside the images that servers use (file_watch.h).
  void look_after(const std::vector<OtherFile>& changed, DataFolders data);
  // The watch over files; null without look_after().
  FileWatch* files() const { return files_.get(); }
  // watch() adds a process that leads a group of its own; forget() removes it once it was waited for. Any thread may
  // call both.
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
