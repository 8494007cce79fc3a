// Runs target code inside the engine, and returns whatever the code does.
//
// A signal, an exception, an abort, a loop that never ends or a spent step budget ends an execution as an Outcome: the
// runner jumps out of target code, over frames that are never unwound, since all that they own lies in the target's
// heap. Changes of heap and globals by uninstrumented code are found by comparison and join the journal.
#ifndef POWERCUT_REPLAYER_EXECUTOR_TARGET_RUNNER_H_
#define POWERCUT_REPLAYER_EXECUTOR_TARGET_RUNNER_H_

#include <csetjmp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "replayer/executor/loop_watch.h"
#include "replayer/executor/machine_state.h"
#include "replayer/executor/outcome.h"
#include "replayer/undecided/other_memory.h"
#include "replayer/undecided/undecided_memory.h"
#include "tracer/world/code_place.h"
#include "tracer/world/memory_range.h"

namespace powercut {

// The code of this process's executable, without the libraries that it loads.
MemoryRange executable_code();

class TargetRunner {
 public:
  struct Options {
    int64_t step_budget = 0;
    // Code that is not the target's: a fault in here is a failure of the harness and kills the process.
    MemoryRange own_code = {};
    // Called when an execution has ended, in every process in which one ends: target code may have forked.
    std::function<void()> after_each = {};
  };
  // Make at most one runner in a process: signal handlers and traps are process-wide. `memory` outlives this object.
  TargetRunner(const Options& options, UndecidedMemory* memory);
  ~TargetRunner();
  TargetRunner(const TargetRunner&) = delete;
  TargetRunner& operator=(const TargetRunner&) = delete;

  // Calls `body` with hooks on; hooks for loads are on from the beginning of the pool up to `load_end`.
  Outcome run(uint64_t load_end, const std::function<void()>& body);
  // Returns the machine's state in a hook.
  MachineState state(LiveState live) const;
  // Lets target code go on in a state of an earlier execution, with `result` as the hook's return value. `restore` puts
  // memory back once the execution has begun.
  Outcome go_on(uint64_t load_end, const MachineState& state, uint64_t result, absl::FunctionRef<void()> restore);
  bool running() const { return running_; }

  // Sets the variant; call it between executions. While `variant` is not 0, target code runs in another world
  // (virtual_world.h). Its heap begins elsewhere, and uninitialised memory holds other bytes.
  static constexpr uint64_t kHeapShift = uint64_t{1} << 16;
  void set_variant(uint64_t variant) { variant_ = variant; }
  // Clears the stack below target code's end. Otherwise bytes of earlier calls would stand in the padding of objects
  // that recovery copies to its heap. Two heaps that differ in nothing else are to be equal.
  void clear_stack_below();
  // Returns whether uninstrumented code has ever accessed the pool, or whether the target calls such code. If so, its
  // changes of heap and globals are looked for when an execution has ended.
  static bool met_other_code();

  // Returns why the results so far are not all that target code can do: one sentence for each reason, few and distinct,
  // in the order in which they came up. The verdict is `unknown` then, unless there are findings.
  const std::vector<std::string>& doubts() const { return doubts_; }
  void doubt(std::string sentence);
  // Returns " at <library>+0x<offset>" of the target's innermost frame of a stack; empty if there is none.
  std::string place_of(const std::vector<uint64_t>& stack) const;
  // Notes that target code asked for these WorldSources, and did the same in every world that was tried.
  void note_sources(uint32_t sources) { sources_ |= sources; }
  uint32_t sources() const { return sources_; }

  // ---- for hooks and signal handlers -----------------------------------------------------------------
  // Ends the execution.
  [[noreturn]] void stop(Outcome outcome);
  // Ends the execution as kUnknown: target code did something that the engine does not model. `sentence` tells it.
  [[noreturn]] void give_up(std::string sentence, CodePlace place);
  // Ends the execution as kSteps: its state repeats.
  [[noreturn]] void hang(CodePlace place, std::string what = "");
  void on_steps(LiveState live);
  // Notes a load of the pool, for waited_for().
  void note_load(uint64_t offset) {
    several_loaded_ = several_loaded_ || (loaded_ != kNothing && loaded_ != offset);
    loaded_ = offset;
  }
  // Makes the next loop turn or call reach on_steps(), however many steps are left until then.
  void want_step();
  // Returns whether want_step() has asked for the step at hand.
  bool take_wanted_step();
  bool owns_code(uint64_t pc) const { return options_.own_code.holds(pc, 1); }
  bool on_stack(uint64_t address, uint64_t size) const { return stack_.holds(address, size); }

 private:
  // Calls `prepare` when the execution has begun and `enter` to enter target code, and sees to its end.
  Outcome guard(uint64_t load_end, absl::FunctionRef<void()> prepare, absl::FunctionRef<void()> enter);
  static void call(void* self);
  void place_stack();
  std::string waited_for() const;
  // Lets the table's own threads work once (work_beside.h). Returns false if their work has changed nothing.
  bool others_work();

  Options options_;
  UndecidedMemory* memory_;
  const std::function<void()>* body_ = nullptr;
  MemoryRange stack_;
  bool running_ = false;
  uint64_t variant_ = 0;
  uint32_t sources_ = 0;
  LoopWatch loop_;
  bool beside_ = false;  // the table's own threads work, within a query whose state has come back

  // The loads since the state was kept that a loop is compared with.
  static constexpr uint64_t kNothing = ~uint64_t{0};
  uint64_t loaded_ = kNothing;  // offset of the last load of the pool
  bool several_loaded_ = false;
  std::optional<int64_t> steps_left_;    // while the next step is wanted
  const uint64_t* stack_end_ = nullptr;  // end of target code's stack: equal in each execution, whoever calls
  uint64_t heap_at_look_ = 0;
  OtherMemory other_memory_;
  std::vector<std::string> doubts_;
  Outcome outcome_;
  sigjmp_buf escape_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_TARGET_RUNNER_H_
