// The process that a command's runs are copies of: the engine's half of forkserver/serve.h.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_RUN_SERVER_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_RUN_SERVER_H_

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/commands/command.h"
#include "checker/subjects/program/forkserver/serve.h"
#include "checker/subjects/program/processes/guardian.h"
#include "checker/subjects/program/processes/tree_mount.h"
#include "tracer/runtime/reads/read_log.h"

namespace powercut {

// The text that a run printed on one of its outputs.
struct RunOutput {
  uint64_t total = 0;                   // bytes
  std::array<uint64_t, 2> digest = {};  // of all bytes
  std::array<uint64_t, 2> lines = {};   // of the same lines in any order
  std::string head, tail;               // the kept bytes; unless these are all, the bytes between are missing.
  // Returns the first and last of the kept bytes, at most `most`, with a note where some are missing.
  std::string text(size_t most = POWERCUT_FORK_KEPT) const;
};

struct RunEnd {
  int status = 0;  // as waitpid() gives it
  bool timed_out = false;
  bool left_processes = false;  // the run left processes, which were killed
  double seconds = 0;
  RunOutput out, err;
};

class RunServer {
 public:
  struct Spec {
    const Command* command;
    std::vector<std::string> words;        // words_for() its images
    std::string redirects;                 // value of POWERCUT_FORK_POOLS
    std::string clock;                     // value of POWERCUT_FORK_CLOCK
    double timeout = 10;                   // seconds, until it serves
    std::vector<std::string> prefix;       // the words of a tracer, under which the command runs and serves
    std::vector<std::string> environment;  // "NAME=value", on top of this process's
    bool reports = false;                  // runs report their reads; the server must not have to fall back
    // Pages of the images that reports follow: nothing for all pages. The value outlives the server.
    const std::optional<std::vector<powercut_image_page>>* followed = nullptr;
    bool elsewhere = false;                     // at other addresses than all others, drawn anew for each server
    FileWatch::Place place = 0;                 // of the images, where the guardian looks after other files
    TreeMount* tree = nullptr;                  // the command runs where this is mounted; outlives the server
    const std::atomic<bool>* cancel = nullptr;  // once set, a run ends at once with an error; may be null
  };
  // `guardian` outlives this.
  RunServer(Spec spec, Guardian* guardian);
  ~RunServer();
  RunServer(const RunServer&) = delete;
  RunServer& operator=(const RunServer&) = delete;

  // Starts the process, when there is none. Harness error when the process does not get ready.
  std::optional<EngineError> start();
  // True if a program that was to serve its runs from before main never did: each run starts it anew.
  bool fell_back() const { return fell_back_; }
  // Runs the command once, for `timeout` seconds at most. A server that died is replaced, once for each run.
  Result<RunEnd> run(double timeout);
  // The reads that the last run has reported. Only with `reports`.
  const powercut_read_log& reads() const { return *reads_; }
  // The path of the library that makes a program serve.
  static std::string library();

 private:
  bool cancelled() const { return spec_.cancel != nullptr && *spec_.cancel; }
  bool receive(void* data, size_t size, double seconds);
  // Starts the process: to serve by itself, or, if `plain`, by a server that starts each run anew.
  std::optional<EngineError> spawn(bool plain);
  // Starts the process anew, to serve each run by an exec.
  std::optional<EngineError> fall_back();
  // Where the guardian looks after files: let_watch() changes the words so that the process is watched from its start,
  // and watch() takes the listener, which comes over `socket`.
  void let_watch(std::vector<std::string>* words) const;
  void watch(int socket);
  // Changes the words and the environment so that the process starts where the tree is mounted.
  void let_enter(std::vector<std::string>* words, std::vector<std::string>* environment) const;
  static void keep_back(std::vector<std::string>* environment);
  // Whether the process came to serve.
  bool ready();
  void stop();
  std::optional<RunEnd> ask(double timeout);
  EngineError trouble(const std::string& what) const;

  // Makes the memory of reads(), once.
  std::optional<EngineError> share_reads();

  Spec spec_;
  Guardian* guardian_;
  bool plain_;
  bool fell_back_ = false;
  pid_t process_ = -1;
  int socket_ = -1;
  int said_ = -1;   // file with the text of the process itself: a program before main
  int status_ = 0;  // of a process that ended
  int reads_fd_ = -1;
  powercut_read_log* reads_ = nullptr;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_PROCESSES_RUN_SERVER_H_
