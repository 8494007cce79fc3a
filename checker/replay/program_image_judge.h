// What a program's recovery makes of given crash images: the counterpart of ../image_judge.h for program mode. An image
// costs one run of the commands; one that was run before is known.
#ifndef POWERCUT_CHECKER_REPLAY_PROGRAM_IMAGE_JUDGE_H_
#define POWERCUT_CHECKER_REPLAY_PROGRAM_IMAGE_JUDGE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checker/replay/judge_requests.h"
#include "checker/subjects/program/loaded_program.h"
#include "checker/subjects/program/outputs/judge.h"
#include "checker/subjects/program/workers/image_memo.h"

namespace powercut {

class ProgramImageJudge {
 public:
  // All of them outlive it. `follower` stands at the start of the trace over `pool`.
  ProgramImageJudge(const LoadedProgram& loaded, TraceFollower* follower, const uint8_t* pool, ImageWorkers* workers,
                    const ExpectedOutputs* expected)
      : loaded_(loaded), follower_(follower), pool_(pool), workers_(workers), expected_(expected), names_(pool) {}

  // Calls `emit` with one `judged` event for each request and crash point, in the order of the trace.
  std::optional<EngineError> run(const std::vector<JudgeRequest>& requests, const std::string& path,
                                 const std::function<void(const Json&)>& emit);

 private:
  // What became of one request.
  struct Placed {
    const JudgeRequest* request;
    std::optional<std::string> refused;
    Choice choice;
    ImageName name;
  };
  std::optional<EngineError> crash_point(const std::vector<const JudgeRequest*>& wanted,
                                         const std::function<void(const Json&)>& emit);
  Placed placed(const JudgeRequest& request, const LineSets& sets) const;
  Json judged(const Placed& placed) const;

  const LoadedProgram& loaded_;
  TraceFollower* follower_;
  const uint8_t* pool_;
  ImageWorkers* workers_;
  const ExpectedOutputs* expected_;
  Operations operations_;
  ImageNames names_;
  ImageMemo memo_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_REPLAY_PROGRAM_IMAGE_JUDGE_H_
