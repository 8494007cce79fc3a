// Replays one finding on its trace: memo-free and concrete. Every pending line holds the one content that the
// record gives it, so nothing branches: recovery runs once for each cut, and then the one query.
//
// Nothing in the record is taken on trust. The crash point must be the same instant of the same trace, and every
// content must be one that the line may have there: an image that no power cut can leave shows nothing.
#ifndef POWERCUT_CHECKER_NATIVE_REPRODUCTION_H_
#define POWERCUT_CHECKER_NATIVE_REPRODUCTION_H_

#include <memory>
#include <optional>
#include <vector>

#include "checker/native/finding.h"
#include "checker/native/finding_record.h"
#include "checker/native/session.h"
#include "checker/native/supervisor.h"
#include "checker/native/trace_follower.h"

namespace powercut {

class Reproduction {
 public:
  // What still goes wrong on the finding's image, as the event of a finding; nothing when all is as it must be.
  using Shown = std::optional<Json>;

  // All arguments outlive this. `step_budget`: as for executor_options().
  Reproduction(const Session& session, const FindingRecord& record, int64_t step_budget,
               std::unique_ptr<TraceReader> reader, Progress* progress);

  // Usage errors: the record is of another trace, or its image is not legal there.
  Result<Shown> run();

 private:
  Result<Shown> replay(const Instant& instant);
  // Runs recovery on the level that is installed and what follows: the next cut, or the query.
  Result<Shown> recover(size_t depth, const Instant& instant);
  Result<Shown> descend(size_t depth, const Instant& instant, const std::vector<Cut>& cuts,
                        const std::vector<Executor::NestedStore>& stores);
  Result<Shown> judge(const Instant& instant, const Outcome& recovered);
  // Installs the record's contents of one level if they are legal there, and goes on with recovery.
  Result<Shown> enter(size_t depth, const Instant& instant, const LineSets& legal);
  std::optional<EngineError> note_level(size_t depth, const LineSets& legal);
  void note_reads(size_t depth);
  Json event(const Violation& violation, QueryId query, const Outcome& outcome, const Instant& instant);
  EngineError elsewhere(const std::string& what) const;

  const Session& session_;
  const FindingRecord& record_;
  const AtomPolicy policy_;
  Executor executor_;
  TraceFollower follower_;
  FrameResolver frames_;
  Oracle oracle_;
  Progress* progress_;

  ResultBuffer buffer_;
  Image image_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_REPRODUCTION_H_
