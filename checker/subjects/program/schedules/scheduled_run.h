// Runs a program once, by a schedule (tracer/runtime/threads/schedule_file.h): at fixed addresses, and with its pools
// as they were before. The run is supervised, since a thread may wait for an event that the schedule never brings
// about.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SCHEDULED_RUN_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SCHEDULED_RUN_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/processes/guardian.h"
#include "tracer/runtime/threads/schedule_file.h"

namespace powercut {

struct ProgramToSchedule {
  std::vector<std::string> words;
  std::string cwd;
  std::string input;  // a file as the program's standard input; empty: nothing
  std::vector<std::string> pools;
  double most_seconds = 0;   // of one run
  bool every_store = false;  // eadr: stores to the pools are visible
};

using Choices = std::vector<uint16_t>;

struct ScheduleRequest {
  Choices choices = {};
  runtime::Tail tail = runtime::Tail::kGoesOn;
  uint64_t seed = 0;
  uint32_t changes = 0, length = 0;
  std::vector<uint32_t> order = {};  // kOrder: the thread of each operation, one after the other
};

struct ScheduledRun {
  std::vector<runtime::Decision> decisions;
  std::vector<uint64_t> found;  // places that should have been visible
  uint32_t threads = 0;
  runtime::ScheduleEnd end{};
  uint64_t did = 0;  // digest of all that the threads have done
  std::string doubt, text;
  bool followed = false;  // the program has the runtime, and began to follow the schedule
  int status = 0;         // of the process; -N: signal N
  std::string stalled;    // why the run was ended from outside; empty: it ended by itself
};

class ScheduledRuns {
 public:
  // Keeps a copy of the pools' contents. The runs' own files lie in the guardian's folder.
  static Result<std::unique_ptr<ScheduledRuns>> create(ProgramToSchedule program, Guardian* guardian,
                                                       const std::atomic<bool>* cancel);
  ~ScheduledRuns();
  ScheduledRuns(const ScheduledRuns&) = delete;
  ScheduledRuns& operator=(const ScheduledRuns&) = delete;

  Result<ScheduledRun> run(const ScheduleRequest& request);
  // Makes the uses of more places visible from now on. False: there is no room for the places.
  bool add_places(const std::vector<uint64_t>& places);
  // The files of the last run: its stream, its standard output and its standard error.
  const std::string& stream() const { return stream_; }
  std::string output() const { return folder_ + "/stdout"; }
  std::string errors() const { return folder_ + "/stderr"; }

 private:
  // A copy of a pool file: blocks that are not all zeros, by their offset.
  struct PoolCopy {
    std::string path;
    bool exists = false;
    uint64_t size = 0;
    uint32_t mode = 0;
    std::vector<std::pair<uint64_t, std::string>> blocks = {};
  };
  ScheduledRuns(ProgramToSchedule program, Guardian* guardian, const std::atomic<bool>* cancel)
      : program_(std::move(program)), guardian_(guardian), cancel_(cancel), folder_(guardian->folder()) {}
  std::optional<EngineError> keep_pools();
  std::optional<EngineError> put_pools_back() const;
  void prepare(const ScheduleRequest& request);
  Result<pid_t> start() const;
  // Waits for the end of the process. Returns the reason if the process had to be ended from outside; otherwise empty.
  std::string supervise(pid_t process, int* status) const;

  ProgramToSchedule program_;
  Guardian* guardian_;
  const std::atomic<bool>* cancel_;
  const std::string folder_;
  std::string stream_;
  std::vector<PoolCopy> pools_;
  runtime::ScheduleFile* file_ = nullptr;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SCHEDULED_RUN_H_
