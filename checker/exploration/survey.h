// What a walk over the trace tells with the model alone: how many crash points and crash states there are, which
// lines were written, and performance bugs.
#ifndef POWERCUT_CHECKER_EXPLORATION_SURVEY_H_
#define POWERCUT_CHECKER_EXPLORATION_SURVEY_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "checker/trace/explore_options.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

// Useless flushes or fences by one call stack, or the stores of one instruction, whatever called it, when none of them
// became durable.
struct PerformanceBug {
  std::string kind;  // redundant-flush, redundant-fence, never-persisted
  uint64_t count = 0;
  uint32_t stack = 0;              // of the first
  uint64_t offset = 0, event = 0;  // of the first
};

struct Survey {
  std::string searched;  // of a tree of schedules: what it covers (tracer/format/FORMAT.md)
  uint64_t crash_points = 0;
  BigInt crash_states = 0;
  std::vector<PerformanceBug> performance_bugs;
  std::vector<uint64_t> written_lines;  // ascending
};

// redundant-flush: the line holds nothing that this flush could make durable (clean, or flushed since its last
// store). redundant-fence: an sfence or mfence with no flush and no non-temporal store of its thread to wait
// for. Both are told by call stack, since a helper that flushes is called from everywhere; stacks beyond kMostStacks by
// instruction. never-persisted: an instruction of which no store was durable as a whole when the trace ended.
//
// Known inaccuracies: a line that another thread flushed, but has not fenced, counts as flushed; a flush that is
// needed for the fence of its own thread is then called redundant.
class PerformanceBugs {
 public:
  static constexpr size_t kMostStacks = 4096;

  PerformanceBugs(const TraceReader& reader, uint64_t lines);

  void apply(const Event& event);
  // By kind, then in the order of the run.
  std::vector<PerformanceBug> finish(const Model& model);

 private:
  // The rows that there may be; those with a count are.
  struct Site {
    PerformanceBug stores, flushes, fences;
  };
  // The instruction that stores, flushes or fences: the innermost frame, whoever called. Stacks that are not known
  // share site 0.
  size_t site_of(uint32_t stack);
  Site& useless(uint32_t stack);

  const TraceReader& reader_;
  std::vector<Site> sites_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, size_t> by_place_;  // module and offset
  absl::flat_hash_map<uint32_t, size_t> by_stack_;
  absl::flat_hash_map<uint32_t, Site> useless_;  // by stack; without stores
  std::vector<bool> dirty_;                      // by line
  uint64_t dirty_lines_ = 0;
  absl::flat_hash_set<uint32_t> waiting_;
};

// Takes the survey beside a walk over the trace: call it for every event and every crash point.
class Surveyor {
 public:
  // `follower` outlives this.
  Surveyor(const TraceFollower* follower, uint64_t lines);
  void saw(const Event& event);
  // The follower stands at a crash point that it has followed the model to.
  void count_states() {
    if (!follower_->trouble()) survey_.crash_states += follower_->frontier().states();
  }
  const BigInt& crash_states() const { return survey_.crash_states; }
  // At the end of the walk.
  Survey finish();

 private:
  const TraceFollower* follower_;
  PerformanceBugs performance_bugs_;
  std::vector<bool> written_;
  Survey survey_;
};

// A whole walk for nothing but the survey.
Result<Survey> survey(const LoadedTrace& loaded, const ExploreOptions& options);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_SURVEY_H_
