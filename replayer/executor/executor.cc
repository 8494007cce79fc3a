#include "replayer/executor/executor.h"

#include <algorithm>
#include <utility>

#include "tracer/world/arena.h"
#include "tracer/world/quiet_heap.h"
#include "tracer/world/stack_below.h"
#include "tracer/world/virtual_world.h"

namespace powercut {

struct Executor::Hooks {
  static Executor* of(void* self) { return static_cast<Executor*>(self); }

  static powercut_sink sink(Executor* self) {
    powercut_sink out{};
    out.self = self;
    out.store = [](void* s, uint64_t a, uint64_t n, uint32_t f, const void* v, const void* pc, const void* fp) {
      of(s)->on_store(a, n, f, v, {pc, fp});
    };
    out.load = [](void* s, uint64_t a, uint64_t n) { of(s)->on_load(a, n); };
    out.rmw_begin = [](void* s, uint64_t a, uint64_t n, const void* pc, const void* fp) {
      of(s)->on_rmw_begin(a, n, {pc, fp});
    };
    out.rmw_end = [](void* s, uint64_t a, uint64_t n, uint32_t stored, const void* pc, const void* fp) {
      if (stored != 0) of(s)->on_rmw_end(a, n, {pc, fp});
    };
    out.flush = [](void* s, uint64_t a, uint32_t kind, const void* pc, const void* fp) {
      Executor& executor = *of(s);
      if (executor.recovery_.active() && executor.memory_.pool_range().holds(a, 1)) {
        executor.recovery_.flush(a - kPoolBase, static_cast<FlushKind>(kind), {pc, fp});
      }
    };
    out.fence = [](void* s, uint32_t kind, const void* pc, const void* fp) {
      if (of(s)->recovery_.active()) of(s)->fence(static_cast<FenceKind>(kind), {pc, fp});
    };
    out.out_of_steps = [](void* s, const uint64_t* live) {
      if (of(s)->runner_.running()) of(s)->on_steps({live});
    };
    return out;
  }

  static void hear_branches(powercut_sink* sink) {
    sink->branches = [](void* s, uint64_t a, uint64_t n) -> int {
      const Executor& executor = *of(s);
      return executor.decisions_ == nullptr && executor.runner_.running() && executor.is_undecided(a, n) ? 1 : 0;
    };
    sink->branch = [](void* s, uint64_t a, uint64_t n, const uint64_t* live) { of(s)->on_branch(a, n, {live}); };
  }

  static void changing(void* self, uint64_t address, uint64_t size) { of(self)->before_change(address, size); }
  static void world_changing(void* self) { changing(self, world_state_range().begin, sizeof(WorldState)); }
  static void unmodelled(void* self, const char* sentence, const void* pc, const void* frame) {
    const QuietHeap quiet;
    if (of(self)->runner_.running()) of(self)->runner_.give_up(sentence, {pc, frame});
  }
};

Executor::Executor(const Options& options)
    : options_(options),
      lines_(options.pool_size / kLineSize),
      memory_({.pool_size = options.pool_size,
               .pool_is_mapped = options.pool_is_mapped,
               .policy = options.policy,
               .globals = options.globals},
              &lines_),
      reads_(memory_.heap_range(), &lines_),
      writes_(&memory_, &reads_),
      recovery_({.policy = options.policy,
                 .persistency = options.persistency,
                 .edits = options.edits,
                 .list_sites = options.list_sites,
                 .own_code = options.own_code},
                &memory_, &lines_),
      runner_({.step_budget = options.step_budget, .own_code = options.own_code, .after_each = options.after_each},
              &memory_) {
  lines_.use_huge_pages();
  arena_events = {.self = this, .changing = Hooks::changing, .unmodelled = Hooks::unmodelled, .fill = 0};
  virtual_world.self = this;
  virtual_world.changing = Hooks::world_changing;
  sink_ = Hooks::sink(this);
  powercut_set_sink(&sink_);
}

Executor::~Executor() {
  powercut_set_sink(nullptr);
  arena_events = {};
  virtual_world.changing = nullptr;
}

// ---- executions ------------------------------------------------------------------------------------

Outcome Executor::run(Decisions* decisions, const std::function<void()>& body) {
  decisions_ = decisions;
  decisions->restart();
  return runner_.run(reads_.end(), body);
}

Outcome Executor::run_recovery(Decisions* decisions, std::vector<Cut>* cuts, const std::function<void()>& body) {
  recovery_.begin(decisions, cuts);
  Outcome outcome = run(decisions, body);
  recovery_.end();
  return outcome;
}

Outcome Executor::run_continued(Decisions* decisions, const UndecidedMemory::Mark& level, const NestedCuts& before,
                                std::vector<Cut>* cuts, const std::function<void()>& body) {
  recovery_.go_on(decisions, level, before, cuts);
  Outcome outcome = run(decisions, body);
  recovery_.end();
  return outcome;
}

void Executor::begin_stretch() {
  decisions_ = nullptr;
  if (sink_.branches != nullptr) return;
  Hooks::hear_branches(&sink_);
  powercut_set_sink(&sink_);
}

void Executor::end_stretches() {
  sink_.branches = nullptr;
  sink_.branch = nullptr;
  powercut_set_sink(&sink_);
}

Executor::Stretch Executor::run_to_branch(const std::function<void()>& body) {
  begin_stretch();
  in_pieces_ = false;
  return stretch(runner_.run(reads_.end(), body));
}

Executor::Stretch Executor::go_on(const Branch& branch, absl::FunctionRef<void()> restore) {
  begin_stretch();
  in_pieces_ = branch.in_pieces;
  const auto result = reinterpret_cast<uint64_t>(memory_.bytes_at(branch.address));
  return stretch(runner_.go_on(reads_.end(), branch.machine, result, restore));
}

Executor::Stretch Executor::stretch(Outcome outcome) {
  return {std::move(outcome), std::exchange(branch_, std::nullopt), std::exchange(lost_, false)};
}

Outcome Executor::run_listened(PathListener* listener, const std::function<void()>& body) {
  Decisions decisions;  // advanced by nobody: the first value at each branch
  runner_.clear_stack_below();
  recovery_.begin(&decisions, listener);
  Outcome outcome = run(&decisions, body);
  recovery_.end();
  return outcome;
}

// ---- fences and steps ------------------------------------------------------------------------------

void Executor::fence(FenceKind kind, CodePlace place) {
  const ClearsHookStack clears(recovery_.compares_stacks());
  recovery_.fence(kind, place);
  if (recovery_.take_fenced() && runner_.running()) runner_.want_step();
}

void Executor::on_steps(LiveState live) {
  if (runner_.take_wanted_step()) {
    const ClearsHookStack clears;
    if (!recovery_.behind_fence(live)) runner_.stop(Outcome{});
    if (__powercut_steps >= 0) return;
  }
  runner_.on_steps(live);
}

// ---- loads -----------------------------------------------------------------------------------------

// Most loads lie in one line, of which something was read before, and decide nothing.
void Executor::on_load(uint64_t address, uint64_t size) {
  if (!runner_.running()) return;
  ++loads_;
  const uint64_t offset = address - kPoolBase, in_line = offset % kLineSize;
  if (offset < options_.pool_size) runner_.note_load(offset);
  if (offset < options_.pool_size && in_line + size <= kLineSize && !recovery_.active()) [[likely]] {
    const uint64_t line = offset / kLineSize, mask = line_mask(in_line, size);
    if (reads_.note_again(line, mask) && memory_.undecided(line, mask) == 0) [[likely]]
      return;
  }
  if (address >= memory_.pool_range().end) {
    reads_.note_heap(address, size);
  } else {
    load_slowly(address, size);
  }
}

void Executor::load_slowly(uint64_t address, uint64_t size) {
  // Loads are announced without a place: the stack begins in the hooks.
  const CodePlace place{__builtin_return_address(0), *static_cast<void* const*>(__builtin_frame_address(0))};
  for_each_line(address - kPoolBase, end_in_pool(address, size), [&](uint64_t line, uint64_t mask) {
    if (!reads_.note_again(line, mask)) {
      reads_.note_first(line, mask);
      if (recovery_.active()) recovery_.lines_read(reads_.lines().size(), place);
    }
    if (recovery_.active()) {
      const ClearsHookStack clears(recovery_.compares_stacks());
      recovery_.read(line, mask);
    } else if (const uint64_t undecided = memory_.undecided(line, mask); undecided != 0) {
      if (decisions_ == nullptr) {
        // There is no state in which the execution could go on: uninstrumented code made this load.
        lost_ = true;
        runner_.stop(Outcome{});
      }
      memory_.decide(line, undecided, decisions_);
    }
  });
}

bool Executor::is_undecided(uint64_t address, uint64_t size) const {
  if (address - kPoolBase >= options_.pool_size) return false;
  bool undecided = false;
  for_each_line(address - kPoolBase, end_in_pool(address, size),
                [&](uint64_t line, uint64_t mask) { undecided = undecided || memory_.undecided(line, mask) != 0; });
  return undecided;
}

// Called in a stretch. The bytes that the load reads are noted here: no hook announces the load again when the code
// goes on.
void Executor::on_branch(uint64_t address, uint64_t size, LiveState live) {
  const QuietHeap quiet;
  for_each_line(address - kPoolBase, end_in_pool(address, size), [this](uint64_t line, uint64_t mask) {
    if (!reads_.note_again(line, mask)) reads_.note_first(line, mask);
  });
  ++loads_;
  branch_ = Branch{runner_.state(live), address, size, in_pieces_};
  runner_.stop(Outcome{});
}

// ---- stores ----------------------------------------------------------------------------------------

void Executor::before_change(uint64_t address, uint64_t size) {
  if (!runner_.running() || memory_.is_fresh(address, size)) return;
  memory_.keep_words(address, size);
  writes_.note(address, size);
}

void Executor::check_store(uint64_t address, uint64_t size, CodePlace place) {
  if (memory_.pool_range().holds(address, size) || MemoryRange{arena.begin, arena.top}.holds(address, size)) return;
  if (errno_range().holds(address, size)) return;
  for (const MemoryRange& range : memory_.globals()) {
    if (range.holds(address, size)) return;
  }
  const QuietHeap quiet;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kWildStore;
  outcome.address = address;
  outcome.stack = place.stack();
  runner_.stop(std::move(outcome));
}

void Executor::store_off_stack(uint64_t address, uint64_t size, uint32_t flags, const void* value, CodePlace place) {
  check_store(address, size, place);
  before_change(address, size);
  if (!memory_.pool_range().holds(address, size)) return;
  // A piece continues an earlier piece in the pool; pieces in other memory are not the medium's.
  if (!in_pieces_) flags &= ~uint32_t{POWERCUT_STORE_CONTINUES};
  in_pieces_ = true;
  store_to_pool(address, {static_cast<const uint8_t*>(value), size}, flags, place);
}

void Executor::store_to_pool(uint64_t address, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place) {
  const ClearsHookStack clears(recovery_.compares_stacks());
  const QuietHeap quiet;
  memory_.overwrite(address - kPoolBase, bytes.size());
  if (recovery_.active()) recovery_.store(address - kPoolBase, bytes, flags, place);
}

// A compare-exchange that then stores nothing counts as one that stores: its words are kept, and noted.
void Executor::on_rmw_begin(uint64_t address, uint64_t size, CodePlace place) {
  if (!runner_.running()) return;
  if (recovery_.active()) fence(FenceKind::kRmw, place);
  if (runner_.on_stack(address, size)) return;
  check_store(address, size, place);
  if (memory_.pool_range().holds(address, size) || memory_.heap_range().holds(address, size)) on_load(address, size);
  before_change(address, size);
}

void Executor::on_rmw_end(uint64_t address, uint64_t size, CodePlace place) {
  if (!runner_.running() || !memory_.pool_range().holds(address, size)) return;
  store_to_pool(address, {memory_.bytes_at(address), size}, POWERCUT_STORE_RMW, place);
}

}  // namespace powercut
