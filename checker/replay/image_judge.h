// Judges given crash images by a subject. The trace is walked once, and the subject is asked at each crash point that
// requests name. The subject tells every violation of an image, where a finding tells one.
//
// A library is judged in the process (library_images.h), a program by runs of its commands (program_images.h).
#ifndef POWERCUT_CHECKER_REPLAY_IMAGE_JUDGE_H_
#define POWERCUT_CHECKER_REPLAY_IMAGE_JUDGE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checker/replay/judge_requests.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

struct JudgedImage {
  std::optional<std::string> refused;  // why the crash point cannot leave the image
  Json violations = Json::array();     // all violations of the image
};

class JudgedSubject {
 public:
  using Tell = std::function<void(const JudgeRequest& request, JudgedImage judged)>;

  virtual ~JudgedSubject() = default;
  // The follower stands at the start of the trace.
  virtual TraceFollower& follower() = 0;
  // Hears of each event of the trace.
  virtual void saw(const Event& event) = 0;
  // Judges the images of `wanted` at the crash point that the follower stands at, and calls `tell` for each in this
  // order. Calls `tell` for none where the schedule went wrong and the subject has no images there.
  virtual std::optional<EngineError> judge(const std::vector<const JudgeRequest*>& wanted, const Tell& tell) = 0;
};

// Calls `emit` with one `judged` event for each request and crash point, in the order of the trace. `path`: the file of
// the requests, for messages.
std::optional<EngineError> judge_images(JudgedSubject* subject, const std::vector<JudgeRequest>& requests,
                                        const std::string& path, const std::function<void(const Json&)>& emit);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_REPLAY_IMAGE_JUDGE_H_
