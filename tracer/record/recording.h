// Runs a workload on a target and records it, in a supervised child (supervisor.h). A target that dies takes only the
// child with it.
#ifndef POWERCUT_TRACER_RECORD_RECORDING_H_
#define POWERCUT_TRACER_RECORD_RECORDING_H_

#include <setjmp.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/supervisor.h"
#include "tracer/format/writer.h"
#include "tracer/record/load_counter.h"
#include "tracer/record/plan.h"
#include "tracer/record/pool.h"
#include "tracer/record/target_library.h"
#include "tracer/record/workload.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/recording/recorder.h"

namespace powercut {

// The trace's metadata: the plan, the target that was run, the pool, the seed and the engine.
Json trace_metadata(const Plan& plan, const TargetLibrary& library, const powercut_traits& traits, const Pool& pool);

// The destination of a recording. `recorder` also writes to `writer`: it adds stores, flushes, fences and marks, and
// the recording adds operations, phases and cuts.
struct Capture {
  TraceWriter& writer;
  Recorder& recorder;
  LoadCounter* loads = nullptr;  // loads are announced only where somebody counts them
};

// Hears operations, phases, cuts and marks where a tracer outside of this process records the stores.
class Announcer {
 public:
  virtual ~Announcer() = default;
  virtual void append(const Event& event) = 0;
};

// Runs a phase whose threads work at the same time, and all phases behind it.
class PhaseOfThreads {
 public:
  using OnMark = std::function<void(const char* name)>;
  virtual ~PhaseOfThreads() = default;
  // `progress` moves on as long as the search does.
  virtual std::optional<EngineError> run(const Phase& phase, powercut_table* table, const OnMark& mark,
                                         Progress* progress) = 0;
};

class Recording {
 public:
  // All arguments outlive the recording. Without a capture the workload runs and nothing is written: the cost of
  // recording is measured against such a run.
  Recording(const Plan& plan, const TargetLibrary& library, const TargetConfig& config, bool checks_exists,
            const Pool& pool, const Capture* capture, Progress& progress, Announcer* announcer = nullptr,
            PhaseOfThreads* threads = nullptr);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();

  // Runs format, open, the whole workload and close. After an error, the trace must not be kept.
  std::optional<EngineError> run();

  // The number of times that each mark was reached in explored phases.
  using Marks = std::map<std::string, uint64_t, std::less<>>;
  const Marks& marks() const { return marks_; }

 private:
  struct Call {
    OpKind kind{};
    std::vector<uint8_t> key, value;
    std::string_view text;
  };
  // The result of a call of the target.
  enum class Outcome { kReturned, kCut, kThrew };

  std::optional<EngineError> begin();
  std::optional<EngineError> open(const char* when);
  std::optional<EngineError> run_operation(const Operation& operation);
  std::optional<EngineError> cut(const Operation& operation);
  std::optional<EngineError> missing_marks() const;
  EngineError missing_cut() const;  // of the phase that ended
  // Calls the target between kOpBegin and kOpEnd. `result_` becomes the value of kOpEnd. Objects on the stack of `body`
  // must need no destructor: a cut leaves `body` by siglongjmp.
  template <typename Body>
  Outcome call(const Call& call, std::string_view description, Body&& body);
  Outcome lookup(uint64_t key, powercut_status* status);
  EngineError threw(std::string_view description) const;
  void on_mark(const char* name);
  // Callbacks for pool_traps.h.
  static bool in_a_call(uint64_t pc);
  static void give_up(const std::string& what, const void* pc, const void* frame);
  static void hang(const void* pc, const void* frame);
  static Recorder& recorder_of(void* self);
  static LoadCounter& loads_of(void* self);
  void append(EventKind kind, uint8_t code, const Call* call, std::span<const uint8_t> value, std::string_view text);

  const Plan& plan_;
  const powercut_target& target_;
  const TargetConfig& config_;
  const Pool& pool_;
  const Capture* capture_;
  Announcer* announcer_;
  PhaseOfThreads* threads_;  // null: the plan has no such phase
  powercut_sink sink_{};     // forwards to the recorder and sees the marks
  Progress& progress_;

  Workload workload_;
  powercut_table* table_ = nullptr;
  const Phase* phase_ = nullptr;  // null before the first
  bool cut_pending_ = false;      // the phase's cut_at was not reached yet
  bool in_call_ = false;
  std::vector<uint8_t> lookup_buffer_;
  std::string description_;      // of the running operation
  sigjmp_buf leave_;             // where a cut leaves the target
  std::vector<uint8_t> result_;  // what the last lookup returned
  std::string exception_;
  static constexpr int kUnfollowed = 2;        // what leave_ is left with; a cut: 1
  std::string unfollowed_;                     // an access of the pool that cannot be recorded
  static inline Recording* watched = nullptr;  // the one that records a watched pool: handlers are of the process
  Marks marks_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_RECORDING_H_
