// The answer of a command that prints nothing: a file with a JSON object, or with an error as {"error": {"kind",
// "what", "where", "next"}}.
#ifndef POWERCUT_ENGINE_REPORT_FILE_H_
#define POWERCUT_ENGINE_REPORT_FILE_H_

#include <fstream>
#include <string>

#include "base/event_stream.h"
#include "base/result.h"

namespace powercut {

// Returns the exit status of the command.
inline int write_report(const std::string& file, const Result<Json>& answer) {
  Json report;
  if (answer) {
    report = *answer;
  } else {
    const EngineError& error = answer.error();
    report["error"] = {{"kind", error.kind == ErrorKind::kUsage ? "usage" : "harness"},
                       {"what", error.what},
                       {"where", error.where},
                       {"next", error.next}};
  }
  std::ofstream(file) << report.dump(-1, ' ', false, Json::error_handler_t::replace);
  return answer ? kExitOk : answer.error().exit_code();
}

}  // namespace powercut
#endif  // POWERCUT_ENGINE_REPORT_FILE_H_
