// Judges given crash images by a library, memo-free and concrete (concrete_replay.h). An image costs one recovery for
// each cut and one run of each query, each undone. This class shares the judges with an exploration and none of its
// shortcuts.
#ifndef POWERCUT_CHECKER_REPLAY_LIBRARY_IMAGES_H_
#define POWERCUT_CHECKER_REPLAY_LIBRARY_IMAGES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/supervisor.h"
#include "checker/replay/image_judge.h"
#include "checker/subjects/library/concrete_replay.h"
#include "checker/trace/loaded_trace.h"
#include "replayer/executor/process_modules.h"

namespace powercut {

class LibraryImages final : public JudgedSubject {
 public:
  // All arguments outlive this. `step_budget`: as for executor_options().
  LibraryImages(const LoadedTrace& loaded, const std::string& model, AtomPolicy policy, int64_t step_budget,
                std::unique_ptr<TraceReader> reader, Progress* progress);

  TraceFollower& follower() override { return follower_; }
  void saw(const Event& event) override;
  std::optional<EngineError> judge(const std::vector<const JudgeRequest*>& wanted, const Tell& tell) override;

 private:
  // Returns every violation that the recovered table shows.
  Json violations(const Outcome& recovered, bool nested);
  // Where an execution died: [module, offset] of each frame; null for an execution that returned, aborted or did not
  // end.
  Json fault(const Outcome& outcome);

  const LoadedTrace& loaded_;
  Executor executor_;
  TraceFollower follower_;
  Oracle oracle_;
  Progress* progress_;
  ResultBuffer buffer_;
  ConcreteReplay replay_;
  FrameResolver frames_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_REPLAY_LIBRARY_IMAGES_H_
