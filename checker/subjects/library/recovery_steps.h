// The loads and stores of recovery, and of the query that showed a finding, on the crash image. The steps are in order,
// so that a reader of the finding can go through them.
//
// The listener stands in front of the executor's own one. Steps of one kind, one call stack and one run of bytes are
// one step. An execution may make millions of steps, so few are kept: the first, the last, and in between the steps on
// lines that were pending at the cut. The total number of steps is told.
//
// Known inaccuracy: of code that calls no hooks, only the accesses that fault are told (tracer/world/pool_traps.h).
#ifndef POWERCUT_CHECKER_SUBJECTS_LIBRARY_RECOVERY_STEPS_H_
#define POWERCUT_CHECKER_SUBJECTS_LIBRARY_RECOVERY_STEPS_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/event_stream.h"
#include "replayer/executor/executor.h"
#include "replayer/executor/process_modules.h"

namespace powercut {

class RecoverySteps {
 public:
  // Number of steps that are kept at each end, and of steps on pending lines in between.
  static constexpr size_t kMost = 100;
  // Bytes of one step that are kept.
  static constexpr uint64_t kMostBytes = 64;
  enum class Part : uint8_t { kRecovery, kQuery };

  // `executor` outlives this. `pending`: numbers of the lines that the cut left undecided.
  RecoverySteps(Executor* executor, std::set<uint64_t> pending) : executor_(executor), pending_(std::move(pending)) {}
  ~RecoverySteps() { end(); }
  RecoverySteps(const RecoverySteps&) = delete;
  RecoverySteps& operator=(const RecoverySteps&) = delete;

  // begin() starts to keep steps, as steps of `part`, and end() stops. Call both between executions.
  void begin(Part part);
  void end();

  // `Steps` of reports/EVENTS.md. Precondition: end() was called.
  Json json(FrameResolver* frames) const;

 private:
  enum class Kind : uint8_t { kLoad, kStore, kFlush, kFence };
  struct Step {
    uint64_t number = 0;  // from 0
    Part part = Part::kRecovery;
    Kind kind = Kind::kLoad;
    uint32_t code = 0;  // of a flush or a fence; of a store, its flags
    uint64_t offset = 0, size = 0;
    std::vector<uint8_t> bytes;
    std::vector<uint64_t> stack;  // return addresses, innermost first
  };
  struct Hooks;  // the C callbacks

  void access(Kind kind, uint64_t address, uint64_t size, uint32_t code, const void* value, CodePlace place);
  void keep(Step step);
  bool on_pending_line(const Step& step) const;
  static Json step_json(const Step& step, bool pending, FrameResolver* frames, const MemoryRange& own_code);

  Executor* executor_;
  const std::set<uint64_t> pending_;
  Part part_ = Part::kRecovery;
  bool listening_ = false;
  powercut_sink before_{}, sink_{};
  std::optional<Step> at_hand_;  // may still grow
  uint64_t all_ = 0;
  std::vector<Step> first_, between_;
  std::deque<Step> last_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_LIBRARY_RECOVERY_STEPS_H_
