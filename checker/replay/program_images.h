// Judges given crash images by a program's recovery. An image costs one run of the commands. The outcome of an image
// that was run before is known.
#ifndef POWERCUT_CHECKER_REPLAY_PROGRAM_IMAGES_H_
#define POWERCUT_CHECKER_REPLAY_PROGRAM_IMAGES_H_

#include <optional>
#include <string>
#include <vector>

#include "checker/replay/image_judge.h"
#include "checker/subjects/program/loaded_program.h"
#include "checker/subjects/program/outputs/judge.h"
#include "checker/subjects/program/workers/image_memo.h"

namespace powercut {

class ProgramImages final : public JudgedSubject {
 public:
  // All arguments outlive this. `follower` stands at the start of the trace over `pool`.
  ProgramImages(const LoadedProgram& loaded, TraceFollower* follower, const uint8_t* pool, ImageWorkers* workers,
                const ExpectedOutputs* expected)
      : loaded_(loaded), follower_(follower), pool_(pool), workers_(workers), expected_(expected), names_(pool) {}

  TraceFollower& follower() override { return *follower_; }
  void saw(const Event& event) override { operations_.apply(event); }
  std::optional<EngineError> judge(const std::vector<const JudgeRequest*>& wanted, const Tell& tell) override;

 private:
  // The image that one request names, or why there is none.
  struct Placed {
    std::optional<std::string> refused;
    Choice choice;
    ImageName name;
  };
  Placed placed(const JudgeRequest& request, const LineSets& sets) const;
  Json violations(const ProgramOutcome& outcome) const;

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
#endif  // POWERCUT_CHECKER_REPLAY_PROGRAM_IMAGES_H_
