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
#include "checker/subjects/program/reads/read_set.h"
#include "checker/subjects/program/reads/recovery_cuts.h"
#include "checker/subjects/program/workers/program_steps.h"

namespace powercut {

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
  using Step = ServedStep;
  ImageWorker() = default;
  // Starts the servers of the steps. A program that turns out not to serve has run on the image, which is restored.
  std::optional<EngineError> start(std::vector<Step>& steps);
  // Runs the steps on the image at hand, as run_steps() does.
  Result<ProgramOutcome> run_all(std::vector<Step>& steps, double timeout, const AfterStep& after) const;
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
