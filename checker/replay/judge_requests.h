// Requests to judge crash images: one JSON object a line, as `judge` in ../../reports/EVENTS.md says.
#ifndef POWERCUT_CHECKER_REPLAY_JUDGE_REQUESTS_H_
#define POWERCUT_CHECKER_REPLAY_JUDGE_REQUESTS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/event_stream.h"
#include "base/result.h"
#include "checker/subjects/library/concrete_replay.h"

namespace powercut {

struct JudgeRequest {
  Json id;
  // Ordinals of the crash points: either one that the trace must have, or a range, of which the trace need not have
  // every crash point.
  uint64_t first = 0, last = std::numeric_limits<uint64_t>::max();
  bool range = false;
  ConcreteImage image;
};

// The requests, crash point by crash point, as a walk through the trace comes by.
class RequestQueue {
 public:
  explicit RequestQueue(const std::vector<JudgeRequest>& requests);
  // False if some request is left for a crash point from `here` on.
  bool done(uint64_t here) const { return next_ == single_.size() && (ranges_.empty() || here > last_of_ranges_); }
  // Returns the requests for the crash point `here`, which ascends from call to call.
  std::vector<const JudgeRequest*> at(uint64_t here);
  // Returns an error when the trace has ended after `crash_points` crash points and requests are left.
  std::optional<EngineError> left_over(uint64_t crash_points, const std::string& path) const;

 private:
  std::vector<const JudgeRequest*> ranges_, single_;
  uint64_t last_of_ranges_ = 0;
  size_t next_ = 0;  // of single_
};

// Refuses requests whose crash points do not ascend: the trace is walked once. Ranges may stand anywhere.
Result<std::vector<JudgeRequest>> read_requests(const std::string& path);
Result<std::vector<JudgeRequest>> parse_requests(const std::string& text, const std::string& path);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_REPLAY_JUDGE_REQUESTS_H_
