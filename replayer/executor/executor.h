// Runs target code (recovery, queries) inside the engine on a crash image, and undoes all its effects.
//
// The pool and the target's heap are mapped once, at fixed addresses, back to back. Instrumented code calls the hooks
// before each access. The executor receives each call and hands it on to the part that it concerns:
//   UndecidedMemory   bytes are decided when they are first loaded; old words go to a journal; undo() restores them
//   ReadLog           what was loaded; WriteLog: what was stored
//   RecoveryFollower  a recovery's steps in order, and the power cuts among them
//   TargetRunner      the execution itself: signals, exceptions, loops that never end
// A store outside pool, heap, stack and the target's globals stops the execution before it happens.
//
// The pool is watched (pool_memory.h): an access by code without hooks faults, and pool_traps.h calls the hooks for
// this code.
//
// Known inaccuracy: loads of uninstrumented code from the target's heap and globals are not seen.
#ifndef POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_H_
#define POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_H_

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "replayer/executor/outcome.h"
#include "replayer/executor/read_log.h"
#include "replayer/executor/recovery_follower.h"
#include "replayer/executor/target_runner.h"
#include "replayer/executor/write_log.h"
#include "replayer/media/medium.h"
#include "replayer/undecided/decisions.h"
#include "replayer/undecided/line_set.h"
#include "replayer/undecided/nested_cuts.h"
#include "replayer/undecided/undecided_memory.h"
#include "tracer/runtime/hooks.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_memory.h"

namespace powercut {

class Executor {
 public:
  struct Options {
    uint64_t pool_size = 0;
    AtomPolicy policy = AtomPolicy::kAny;
    const Persistency* persistency = &default_persistency();
    int64_t step_budget = 0;
    std::vector<MemoryRange> globals;  // the target's writable data
    // Code that is not the target's: a fault in here is a failure of the harness and kills the process.
    MemoryRange own_code = {};
    bool pool_is_mapped = false;  // by map_pool(), in this process or in its parent before fork()
    std::vector<CodeEdit> edits = {};
    bool list_sites = false;  // keep recovery().sites()
    // Called when an execution has ended, in every process in which one ends: target code may have forked.
    std::function<void()> after_each = {};
    // Set from outside when no more executions are to run, even in the middle of a crash point; null: never.
    const std::atomic<bool>* stop = nullptr;
  };
  explicit Executor(const Options& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const Options& options() const { return options_; }
  // Returns whether no more executions are to run. The crash point at hand is left then, and counts as not covered.
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed); }
  // The pool's bytes, for the engine.
  uint8_t* pool() const { return memory_.pool(); }
  // The address at which target code believes its pool to begin. Nothing can be accessed there.
  uint8_t* pool_address() const { return reinterpret_cast<uint8_t*>(kPoolBase); }
  uint64_t pool_size() const { return options_.pool_size; }

  UndecidedMemory& memory() { return memory_; }
  const UndecidedMemory& memory() const { return memory_; }
  ReadLog& reads() { return reads_; }
  const ReadLog& reads() const { return reads_; }
  WriteLog& writes() { return writes_; }
  RecoveryFollower& recovery() { return recovery_; }
  const RecoveryFollower& recovery() const { return recovery_; }
  TargetRunner& runner() { return runner_; }
  const TargetRunner& runner() const { return runner_; }

  // Calls `body` with hooks on. `decisions` decides undecided bytes.
  Outcome run(Decisions* decisions, const std::function<void()>& body);
  // Runs recovery: like run(), and follows its stores. Cuts at fresh crash points inside recovery are appended to
  // `cuts`, unless null.
  Outcome run_recovery(Decisions* decisions, std::vector<Cut>* cuts, const std::function<void()>& body);
  // Runs an operation of a second life, behind a recovery or an operation that has left `before` of its stores. Cuts
  // are those of the level that `level` begins.
  Outcome run_continued(Decisions* decisions, const UndecidedMemory::Mark& level, const NestedCuts& before,
                        std::vector<Cut>* cuts, const std::function<void()>& body);
  // Runs recovery and tells `listener` its effects; loads of undecided bytes take the first alive candidate's value.
  Outcome run_listened(PathListener* listener, const std::function<void()>& body);
  // The place where an execution has ended at its first load of undecided bytes; the execution can go on there.
  struct Branch {
    MachineState machine;
    uint64_t address = 0, size = 0;  // address and size of the load
    bool in_pieces = false;
  };
  struct Stretch {
    Outcome outcome;               // the query's, if the stretch reached its end
    std::optional<Branch> branch;  // the load at which the stretch ended; else nothing
    bool lost = false;             // true: it has loaded undecided bytes, and cannot go on there
  };
  Stretch run_to_branch(const std::function<void()>& body);
  // Goes on at a branch. `restore` puts memory back as it was at the branch, with the bytes of its load decided.
  Stretch go_on(const Branch& branch, absl::FunctionRef<void()> restore);
  // Ends a series of stretches: from here on loads need not ask whether they branch.
  void end_stretches();
  // Returns the number of loads by all executions so far.
  uint64_t loads() const { return loads_; }

 private:
  struct Hooks;  // the C callbacks
  void on_load(uint64_t address, uint64_t size);
  void on_store(uint64_t address, uint64_t size, uint32_t flags, const void* value, CodePlace place) {
    if ((flags & POWERCUT_STORE_CONTINUES) == 0) in_pieces_ = false;
    if (!runner_.running() || runner_.on_stack(address, size)) return;
    store_off_stack(address, size, flags, value, place);
  }
  void on_rmw_begin(uint64_t address, uint64_t size, CodePlace place);
  void on_rmw_end(uint64_t address, uint64_t size, CodePlace place);
  // Called before a function that stands in for libc's changes memory of the target.
  void before_change(uint64_t address, uint64_t size);
  void load_slowly(uint64_t address, uint64_t size);
  void fence(FenceKind kind, CodePlace place);
  void on_steps(LiveState live);
  // Returns the offset at which the part of an access that lies in the pool ends.
  uint64_t end_in_pool(uint64_t address, uint64_t size) const {
    return std::min(address - kPoolBase + size, options_.pool_size);
  }
  bool is_undecided(uint64_t address, uint64_t size) const;
  void on_branch(uint64_t address, uint64_t size, LiveState live);
  void begin_stretch();
  Stretch stretch(Outcome outcome);
  void check_store(uint64_t address, uint64_t size, CodePlace place);
  void store_off_stack(uint64_t address, uint64_t size, uint32_t flags, const void* value, CodePlace place);
  void store_to_pool(uint64_t address, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place);

  Options options_;
  LineTable lines_;
  UndecidedMemory memory_;
  ReadLog reads_;
  WriteLog writes_;
  RecoveryFollower recovery_;
  TargetRunner runner_;
  Decisions* decisions_ = nullptr;  // null in a stretch
  std::optional<Branch> branch_;
  bool lost_ = false;
  bool in_pieces_ = false;  // an earlier piece of the store at hand lies in the pool
  uint64_t loads_ = 0;
  powercut_sink sink_{};
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_H_
