// Whether a finding needs a power cut. The finding's query is asked again on the image that has lost nothing: every
// store that was made is durable, and recovery is not cut. If the same query goes wrong there in the same way, no order
// of flushes and fences is at fault: the operation stores the wrong thing, or recovery and queries misread it.
//
// In the middle of an operation one more query is not enough. An operation that is not atomic is half done there
// without any loss, and still only a crash shows the half. Such a finding waits for the end of its operation, where
// nothing is half done, and is asked once more.
//
// A run may stop at the first finding that needs no power cut (`stop_at_first`): every answer after it is in doubt.
//
// If the scenario itself cuts the power, every finding counts as one that needs a power cut: the stores that the cut
// lost are gone from then on.
#ifndef POWERCUT_CHECKER_SUBJECTS_LIBRARY_FUNCTIONAL_CHECK_H_
#define POWERCUT_CHECKER_SUBJECTS_LIBRARY_FUNCTIONAL_CHECK_H_

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checker/subjects/library/finding.h"
#include "checker/trace/loaded_trace.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

class FunctionalCheck {
 public:
  using Report = std::function<void(const Json& finding)>;

  // All arguments outlive this object. `report` gets each finding as soon as its need for a power cut is known.
  FunctionalCheck(const LoadedTrace& loaded, AtomPolicy policy, Executor* executor, Oracle* oracle,
                  const TraceFollower* follower, FrameResolver* frames, Report report)
      : loaded_(loaded),
        policy_(policy),
        executor_(executor),
        oracle_(oracle),
        follower_(follower),
        frames_(frames),
        report_(std::move(report)),
        was_cut_(std::any_of(loaded.plan.scenario.phases.begin(), loaded.plan.scenario.phases.end(),
                             [](const Phase& phase) { return !phase.cut_at.empty(); })) {}

  // After the first finding that needs no power cut, no other finding is reported, and stopped() is true.
  void stop_at_first() { stops_ = true; }
  bool stopped() const { return stopped_; }

  // Reports the exposures of the crash point at hand, or keeps them waiting for the end of the operation.
  // Preconditions: the follower has followed the model to the crash point, and only the lines of the first cut are
  // installed in the executor. `trusted`: false when the executor's memory is wrong, so that nothing may be run any
  // more.
  void judge(const std::vector<Exposure>& exposures, bool trusted = true);
  // Reports a finding that is known to need no power cut.
  void tell(const Exposure& exposure) { report(event(exposure)); }
  // Whether findings wait for the end of their operation, and a crash point at which they can be settled.
  bool waiting() const { return !waiting_.empty(); }
  bool settles_here() const { return !follower_->history().in_flight(); }
  // settle() asks the waiting findings again here and reports them. give_up(), where the trace has ended, reports them
  // as findings that need a power cut.
  void settle();
  void give_up();

 private:
  struct Waiting {
    QueryId query;
    std::string symptom;
    Json with_cut, without_cut;  // the finding in the one case and in the other
  };

  // Returns, for each query, its wrong answer when nothing is lost; nothing where the answer is right.
  std::vector<std::optional<Exposure>> ask(const std::vector<QueryId>& queries);
  Json event(const Exposure& exposure) const;
  // Reports the finding, unless the run has stopped at an earlier one.
  void report(const Json& finding);

  const LoadedTrace& loaded_;
  const AtomPolicy policy_;
  Executor* executor_;
  Oracle* oracle_;
  const TraceFollower* follower_;
  FrameResolver* frames_;
  Report report_;
  const bool was_cut_;  // by the scenario itself
  bool stops_ = false, stopped_ = false;
  ResultBuffer buffer_;
  std::vector<Waiting> waiting_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_FUNCTIONAL_CHECK_H_
