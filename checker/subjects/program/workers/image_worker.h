// One worker of program mode: its image files and the commands that are run on them, one image after another.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_WORKER_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_WORKER_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "checker/subjects/program/images/image_files.h"
#include "checker/subjects/program/processes/run_server.h"
#include "checker/subjects/program/reads/read_set.h"
#include "checker/subjects/program/reads/recovery_cuts.h"
#include "replayer/executor/executor.h"

namespace powercut {

// Characters of a program's text that a sentence shows.
inline constexpr size_t kShown = 400;

// The commands of a run of program mode; all work on the same pools.
struct ProgramCommands {
  Command recover;
  std::optional<Command> check, dump;
  std::vector<Command> probes;  // run after the dump, in this order
  double timeout = 10;          // seconds, of each
  bool ordered = false;         // the order counts in which the dump and the probes print their lines
  std::optional<TracePrefix> tracer;
  std::optional<TracePrefix> device_tracer;  // records accesses of a device, for `cut`
  std::optional<RecoveryModel> cut;          // recovery itself is cut, and its stores persist by this model

  // Whether some commands print output that is compared.
  bool print() const { return printing() > 0; }
  size_t printing() const { return (dump ? 1 : 0) + probes.size(); }
  // Whether runs can tell their reads: each command by itself, or all of them under the tracer.
  bool traceable() const { return tracer || report(); }
  bool report() const {
    return recover.reports && (!check || check->reports) && (!dump || dump->reports) &&
           std::ranges::all_of(probes, &Command::reports);
  }
};

// One of the commands, which are run on an image in this order.
struct ProgramStep {
  enum class Kind : uint8_t { kRecover, kCheck, kDump, kProbe };
  Kind kind = Kind::kRecover;
  uint32_t probe = 0;  // number of the probe, from 1
  bool operator==(const ProgramStep&) const = default;
};
std::string name_of(const ProgramStep& step);  // "recover", "check", "dump", "probe 2"
const Command& command_of(const ProgramCommands& commands, const ProgramStep& step);

// The outcome of the commands on an image. Equal outcomes (same()) are one behaviour.
struct ProgramOutcome {
  enum class Kind : uint8_t { kOk, kExit, kSignal, kTimeout };
  // The output of a step, which is compared with the outputs that the operations allow.
  struct Printed {
    ProgramStep step;
    uint64_t total = 0;  // bytes
    std::array<uint64_t, 2> digest = {};
    std::array<uint64_t, 2> lines = {};  // of its lines, whatever their order
    std::string text;
    bool same(const Printed& other) const { return total == other.total && digest == other.digest; }
    bool alike(const Printed& other, bool ordered) const { return ordered ? same(other) : lines == other.lines; }
  };
  Kind kind = Kind::kOk;
  ProgramStep step;  // the last step that was run
  int code = 0;      // exit status or signal
  // Of the dump and the probes that were run and ended well.
  std::vector<Printed> printed;
  std::string said;             // by the step that failed
  bool left_processes = false;  // some step left processes behind

  bool ok() const { return kind == Kind::kOk; }
  // The text that the failed step said, or that the last step printed.
  const std::string& text() const { return ok() && !printed.empty() ? printed.back().text : said; }
  // Whether both runs end at the same step in the same way; earlier output may differ.
  bool ends_like(const ProgramOutcome& other) const {
    return kind == other.kind && step == other.step && code == other.code;
  }
  bool same(const ProgramOutcome& other) const { return alike(other, true); }
  // As same(), but the order of printed lines counts only if `ordered`.
  bool alike(const ProgramOutcome& other, bool ordered) const;
};

// Seconds that a command is given in a second run if it did not end within `timeout` seconds: the machine may have been
// busy. A command that does not end then either counts as one without an end. A value of at most `timeout` means: there
// is no second run.
double second_timeout(double timeout);

class ImageWorker {
 public:
  // Makes `folder`. All arguments outlive this object. Once `cancel` is set, runs end early with an error.
  static Result<std::unique_ptr<ImageWorker>> create(const std::string& folder, const TracePools& pools,
                                                     const ProgramCommands& commands, Guardian* guardian,
                                                     const std::atomic<bool>* cancel);
  ImageFiles& files() { return *files_; }
  const TracePools& pools() const { return *pools_; }
  // Says, before the first run, that images may differ in these pages of the offset space alone. Without this call they
  // may differ in any page.
  void follow(const std::set<uint64_t>& pages);
  // Whether traced runs report their reads themselves, and none was refused.
  bool reports() const { return commands_->report() && unreported_.empty(); }
  // Runs the commands on the image that files() hold, and restores the image. Runs them once more, with
  // second_timeout(), when a command does not end. With `elsewhere` the processes have other addresses, and the files
  // other times and, as long as that takes little of the time, other inodes: an outcome that depends on the image alone
  // is the same.
  Result<ProgramOutcome> run(bool elsewhere = false);
  // Runs the commands and returns also the bytes of the image that the outcome depends on. Commands that can report
  // their reads do, others run under commands.tracer. Where a report is refused, all commands run under the tracer from
  // then on. `reads` is nothing when the trace does not tell, with the reason in `why`. Without `falls_back` a refused
  // report is only noted.
  struct Traced {
    ProgramOutcome outcome;
    std::optional<ReadSet> reads;
    std::string why;
    // With commands.cut, the events of `recover`: a stream that the receiver removes, and the file of each window.
    std::string stream;
    std::vector<std::string> images;
    bool report_refused = false;  // by a command that reports its reads itself
  };
  Result<Traced> trace(bool falls_back = true);
  // Whether a run has asked for the time, as far as known.
  enum class Clock : uint8_t { kNotAsked, kUnknown, kAsked };
  Clock clock() const;
  // Runs that begin from now on are told a time that many seconds later. Precondition: clock() is kAsked.
  void shift_clock(int seconds) const;
  // From now on no run reports its reads. False: none did before, or there is no tracer.
  bool distrust_reports(const std::string& why);
  // Sentences about how the commands are run, for the result.
  std::vector<std::string> notes() const;

 private:
  struct Step {
    ProgramStep step;
    const Command* command;
    bool reports;  // the step's runs tell their reads
    std::unique_ptr<RunServer> server;
  };
  ImageWorker() = default;
  // Starts the servers of the steps. A program that turns out not to serve has run on the image, which is restored.
  std::optional<EngineError> start(std::vector<Step>& steps);
  // Runs the steps until one fails, each for `timeout` seconds at most; `after` hears of the end of each.
  Result<ProgramOutcome> run_steps(std::vector<Step>& steps, double timeout,
                                   const std::function<void(const Step&, const RunEnd&)>& after) const;
  Result<Traced> trace_once();
  // Runs `recover` once more, under the tracer that records what it does to its device; the stream is in `traced`.
  std::optional<EngineError> trace_device(Traced* traced);
  // Gives the image's files other times and, while that takes little of the time, other inodes: for programs that ask
  // for more than bytes.
  std::optional<EngineError> disguise();
  void keep_stream(Traced* traced);
  std::vector<FileWatch::Image> places() const;
  // Call begin_image() before the commands are run on an image.
  void begin_image() const;
  enum class How { kUsual, kElsewhere, kTraced, kDeviceTraced };
  std::vector<Step> make_steps(How how) const;

  std::unique_ptr<ImageFiles> files_;
  const TracePools* pools_ = nullptr;
  const ProgramCommands* commands_ = nullptr;
  Guardian* guardian_ = nullptr;
  const std::atomic<bool>* cancel_ = nullptr;
  FileWatch::Place place_ = 0;
  std::string stream_;  // file that a tracer writes
  std::string clock_;   // file that runs make which ask for the time
  uint64_t disguises_ = 0;
  double run_seconds_ = 0, inode_seconds_ = 0;                // that runs took, and other inodes
  uint64_t streams_ = 0;                                      // that were kept
  std::optional<std::vector<powercut_image_page>> followed_;  // of reports; nothing: all pages
  std::string unreported_;  // why runs report their reads no more; empty while they report
  std::vector<Step> steps_, elsewhere_steps_, traced_steps_, device_steps_;  // the last one: `recover` alone
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_IMAGE_WORKER_H_
