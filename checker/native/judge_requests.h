// Crash images that somebody wants to have judged: one JSON object a line, as `judge` in ../../reports/EVENTS.md says.
#ifndef POWERCUT_CHECKER_NATIVE_JUDGE_REQUESTS_H_
#define POWERCUT_CHECKER_NATIVE_JUDGE_REQUESTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checker/native/concrete_replay.h"
#include "checker/native/event_stream.h"
#include "checker/native/result.h"

namespace powercut {

struct JudgeRequest {
  Json id;
  std::optional<uint64_t> crash_point;  // by its ordinal; none: at each
  ConcreteImage image;
};

// Refuses requests whose crash points do not ascend: the trace is walked once.
Result<std::vector<JudgeRequest>> read_requests(const std::string& path);
Result<std::vector<JudgeRequest>> parse_requests(const std::string& text, const std::string& path);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_JUDGE_REQUESTS_H_
