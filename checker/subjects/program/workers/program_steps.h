// The commands of a run, one after another on one image, and their outcome. A worker puts the image where the commands
// find it.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_PROGRAM_STEPS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_PROGRAM_STEPS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checker/subjects/program/processes/run_server.h"
#include "checker/subjects/program/reads/recovery_cuts.h"

namespace powercut {

// Characters of a program's text that a sentence shows.
inline constexpr size_t kShown = 400;

// The commands of a run of program mode; all work on the same pools.
struct ProgramCommands {
  Command recover;
  std::optional<Command> check, dump;
  std::vector<Command> probes;  // run after the dump, in this order
  // The work of a second life: it is run behind recovery, and the power is cut once more.
  std::optional<Command> continuation;
  double timeout = 10;   // seconds, of each
  bool ordered = false;  // the order counts in which the dump and the probes print their lines
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
  enum class Kind : uint8_t { kRecover, kContinue, kCheck, kDump, kProbe };
  Kind kind = Kind::kRecover;
  uint32_t probe = 0;  // number of the probe, from 1
  bool operator==(const ProgramStep&) const = default;
};
std::string name_of(const ProgramStep& step);  // "recover", "continue", "check", "dump", "probe 2"
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
  // The outputs of the dump and of the probes that were run and ended well.
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

// A step, and the process that its runs are copies of.
struct ServedStep {
  ProgramStep step;
  const Command* command;
  bool reports;  // the step's runs tell their reads
  std::unique_ptr<RunServer> server;
};
// Returns the steps of the commands, in the order of their runs; `continued`: with the continuation.
std::vector<ProgramStep> steps_of(const ProgramCommands& commands, bool continued = false);
// Starts the servers of the steps. `ran`: a program turned out not to serve, and has run.
std::optional<EngineError> start_steps(std::vector<ServedStep>& steps, bool* ran);
// Runs the steps until one fails, each for `timeout` seconds at most; `after` hears of the end of each.
using AfterStep = std::function<void(const ServedStep&, const RunEnd&)>;
Result<ProgramOutcome> run_steps(
    std::vector<ServedStep>& steps, const ProgramCommands& commands, double timeout,
    const AfterStep& after = [](const ServedStep&, const RunEnd&) {});
// Returns sentences about how the steps are run, for the result.
std::vector<std::string> notes_on(const std::vector<ServedStep>& steps);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_WORKERS_PROGRAM_STEPS_H_
