#include "checker/replay/image_judge.h"

#include <utility>

namespace powercut {

std::optional<EngineError> judge_images(JudgedSubject* subject, const std::vector<JudgeRequest>& requests,
                                        const std::string& path, const std::function<void(const Json&)>& emit) {
  RequestQueue queue(requests);
  TraceFollower& follower = subject->follower();
  const auto tell = [&](const JudgeRequest& request, JudgedImage judged) {
    const Instant& instant = follower.instant();
    emit({{"event", "judged"},
          {"id", request.id},
          {"crash_point", instant.ordinal},
          {"crash_event", instant.event},
          {"when", instant.when},
          {"legal", !judged.refused},
          {"why", judged.refused ? Json(*judged.refused) : Json(nullptr)},
          {"violations", std::move(judged.violations)}});
  };
  const auto saw = [subject](const Event& event) { subject->saw(event); };
  while (!queue.done(follower.crash_points()) && follower.next(saw)) {
    const std::vector<const JudgeRequest*> wanted = queue.at(follower.instant().ordinal);
    if (wanted.empty()) continue;
    if (auto wrong = subject->judge(wanted, tell)) return wrong;
  }
  if (const auto error = follower.error()) return usage_error(*error);
  return queue.left_over(follower.crash_points(), path);
}

}  // namespace powercut
