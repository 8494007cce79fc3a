// What recovery and all queries make of given crash images: memo-free and concrete (concrete_replay.h). The trace is
// walked once; an image costs one recovery for each cut and one run of each query, each undone.
//
// It shares the judges with an exploration and none of its shortcuts, and it tells everything that is wrong with an
// image, where a finding tells one thing.
#ifndef POWERCUT_CHECKER_REPLAY_IMAGE_JUDGE_H_
#define POWERCUT_CHECKER_REPLAY_IMAGE_JUDGE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/supervisor.h"
#include "checker/replay/judge_requests.h"
#include "checker/subjects/library/concrete_replay.h"
#include "checker/trace/loaded_trace.h"
#include "checker/trace/trace_follower.h"
#include "replayer/executor/process_modules.h"

namespace powercut {

class ImageJudge {
 public:
  // All arguments outlive this. `step_budget`: as for executor_options().
  ImageJudge(const LoadedTrace& loaded, const std::string& model, AtomPolicy policy, int64_t step_budget,
             std::unique_ptr<TraceReader> reader, Progress* progress);

  // Calls `emit` with one `judged` event for each request and crash point, in the order of the trace.
  std::optional<EngineError> run(const std::vector<JudgeRequest>& requests, const std::string& path,
                                 const std::function<void(const Json&)>& emit);

 private:
  Json judged(const JudgeRequest& request, const LineSets& legal);
  // Of the recovered table: everything that is wrong with it.
  Json violations(const Outcome& recovered, bool nested);
  // Where an execution died: [module, offset] of each frame; null for one that returned, aborted or did not end.
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
#endif  // POWERCUT_CHECKER_REPLAY_IMAGE_JUDGE_H_
