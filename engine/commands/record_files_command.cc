// `powercut-engine record-files`: runs a command and records what it does to the files below a folder (tracer/calls).
//
//     powercut-engine record-files --folder=DIR --trace=FILE --report=FILE [--marks=FILE] [--output=DIR]
//         [--stores=FILE --tracer-words=N] [--steps=DESCRIPTOR] -- COMMAND [WORD]…
//
// The command has the terminal and the files of this process. With --output, a folder that exists, its standard output
// and error go to the files `stdout` and `stderr` there. The report is JSON: {"status", "signal", "events", "touched",
// "missed", "elsewhere", "elsewhere_count", "printed"}, of which `status` or `signal` is null; or {"error": {"kind",
// "what", "where", "next"}}. An element of `printed` is [events before the write, 1 stdout or 2 stderr, size of the
// file]. With --stores the first N words start a tracer of instructions, which tells stores in the file that is made.
// The descriptor of --steps is an inherited socket, whose other end holds the command before each call on the folder
// (recorder.h).
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/event_stream.h"
#include "engine/commands.h"
#include "engine/report_file.h"
#include "tracer/calls/recorder.h"

namespace powercut {
namespace {

struct Asked {
  RecordedCommand command;
  std::string report;
};

std::optional<Asked> recording_asked_for(int argc, char** argv) {
  Asked out;
  int i = 0;
  for (; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string word = argv[i];
    const auto value = [&](std::string_view name) { return word.substr(name.size()); };
    if (word.starts_with("--folder=")) {
      out.command.folder = value("--folder=");
    } else if (word.starts_with("--trace=")) {
      out.command.trace = value("--trace=");
    } else if (word.starts_with("--marks=")) {
      out.command.marks = value("--marks=");
    } else if (word.starts_with("--stores=")) {
      out.command.stores = value("--stores=");
    } else if (word.starts_with("--tracer-words=")) {
      out.command.tracer_words = std::strtoul(value("--tracer-words=").c_str(), nullptr, 10);
    } else if (word.starts_with("--steps=")) {
      out.command.steps = static_cast<int>(std::strtol(value("--steps=").c_str(), nullptr, 10));
      fcntl(out.command.steps, F_SETFD, FD_CLOEXEC);  // it is not the command's
    } else if (word.starts_with("--output=")) {
      out.command.output = value("--output=");
    } else if (word.starts_with("--report=")) {
      out.report = value("--report=");
    } else {
      return std::nullopt;
    }
  }
  for (++i; i < argc; ++i) out.command.command.emplace_back(argv[i]);
  if (out.command.command.size() <= out.command.tracer_words || out.command.folder.empty() ||
      out.command.trace.empty() || out.report.empty()) {
    return std::nullopt;
  }
  return out;
}

Json report_of(const Recorded& recorded) {
  const bool killed = WIFSIGNALED(recorded.status);
  Json printed = Json::array();
  for (const PrintedSoFar& grown : recorded.printed) printed.push_back({grown.events, grown.output, grown.size});
  return {{"status", killed ? Json() : Json(WEXITSTATUS(recorded.status))},
          {"signal", killed ? Json(WTERMSIG(recorded.status)) : Json()},
          {"events", recorded.events},
          {"touched", recorded.touched},
          {"missed", recorded.missed},
          {"elsewhere", recorded.elsewhere},
          {"elsewhere_count", recorded.elsewhere_count},
          {"printed", printed}};
}

}  // namespace

int record_files(int argc, char** argv) {
  const std::optional<Asked> asked = recording_asked_for(argc, argv);
  if (!asked) return kExitUsage;
  // A recording that nobody waits for ends, and takes the command with it.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A terminal asks the program by itself to stop; its end then ends the recording.
  for (const int number : {SIGINT, SIGQUIT}) signal(number, [](int) {});
  const Result<Recorded> recorded = record_command(asked->command);
  return write_report(asked->report, recorded ? Result<Json>(report_of(*recorded)) : recorded.error());
}

}  // namespace powercut
