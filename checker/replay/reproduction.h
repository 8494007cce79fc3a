// Replays one finding on its trace: memo-free and concrete (concrete_replay.h), recovery once for each cut, and then
// the one query. The crash point must be the same instant of the same trace.
#ifndef POWERCUT_CHECKER_REPLAY_REPRODUCTION_H_
#define POWERCUT_CHECKER_REPLAY_REPRODUCTION_H_

#include <memory>
#include <optional>
#include <vector>

#include "base/supervisor.h"
#include "checker/findings/finding_record.h"
#include "checker/subjects/library/concrete_replay.h"
#include "checker/subjects/library/functional_check.h"
#include "checker/subjects/library/recovery_steps.h"
#include "checker/subjects/library/table_drawing.h"
#include "checker/trace/loaded_trace.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

class Reproduction {
 public:
  // The wrong answer on the finding's image, as the event of a finding; nothing when the answer is right.
  using Shown = std::optional<Json>;

  // All arguments outlive this. `step_budget`: as for executor_options().
  Reproduction(const LoadedTrace& loaded, const FindingRecord& record, int64_t step_budget,
               std::unique_ptr<TraceReader> reader, Progress* progress);

  // Usage errors: the record belongs to another trace, or the crash point cannot leave the record's image.
  Result<Shown> run();
  // Reasons why the finding may still hold although it did not show.
  const std::vector<std::string>& doubts() const { return executor_.runner().doubts(); }

  // Makes run() draw the table, where the target can: on the image with everything persisted, and on the finding's
  // image. Call draw_tables() before run().
  void draw_tables() { drawing_ = loaded_.library->draw() != nullptr; }
  // The `Drawing` of reports/EVENTS.md; null where there is none.
  Json drawing() const;

  // Makes run() keep the loads and stores of recovery and the query. Call keep_steps() before run().
  void keep_steps();
  // The `Steps` of reports/EVENTS.md; null where no recovery was run. Adds to modules().
  Json steps();
  // The modules that frames count into: the trace's modules and the modules that steps() has met.
  const std::vector<TraceModule>& modules() const { return frames_.modules(); }

 private:
  Result<Shown> replay(const Instant& instant);
  // Asks the recovered table the query that showed the finding. A wrong answer goes into `shown_`.
  std::optional<EngineError> judge(const Outcome& recovered);
  // Returns `shown_` as an event, once it is known whether the finding needs a power cut.
  Shown told();
  // Draws the table after recovery of the image with everything persisted. Precondition: nothing is installed.
  void draw_visible();
  // Draws the table that recovery has just opened.
  void draw_into(std::optional<std::vector<DrawnCells::Cell>>* out);
  void show(const Violation& violation, QueryId query, const Outcome& outcome);
  EngineError elsewhere(const std::string& what) const;

  const LoadedTrace& loaded_;
  const FindingRecord& record_;
  const AtomPolicy policy_;
  Executor executor_;
  TraceFollower follower_;
  FrameResolver frames_;
  Oracle oracle_;
  Progress* progress_;

  ResultBuffer buffer_;
  ConcreteReplay replay_;
  std::optional<Exposure> shown_;
  std::unique_ptr<RecoverySteps> steps_;  // null: steps are not kept
  bool recovered_ = false;

  bool drawing_ = false;
  std::vector<LineSet> visible_;
  DrawingFocus focus_;
  std::optional<std::vector<DrawnCells::Cell>> before_, after_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_REPLAY_REPRODUCTION_H_
