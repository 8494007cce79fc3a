#include "replayer/executor/target_runner.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "tracer/runtime/hooks.h"
#include "tracer/world/code_place.h"
#include "tracer/world/fault_signals.h"
#include "tracer/world/pool_traps.h"
#include "tracer/world/quiet_heap.h"
#include "tracer/world/virtual_world.h"
#include "tracer/world/work_beside.h"

// Defined by the linker.
extern "C" const char __executable_start[];
extern "C" const char etext[];

namespace powercut {
namespace {

TargetRunner* current = nullptr;

MemoryRange own_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_destroy(&attributes);
  const auto at = reinterpret_cast<uint64_t>(begin);
  return {at, at + size};
}

ExceptionState exception_state() {
  const auto* globals = reinterpret_cast<const ExceptionState*>(abi::__cxa_get_globals());
  return {globals->caught, globals->uncaught};
}
// The state is set member by member: the bytes behind the members are globals as well, which an execution leaves as
// they were.
void set_exception_state(const ExceptionState& state) {
  auto* globals = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  globals->caught = state.caught;
  globals->uncaught = state.uncaught;
}

// Distance of target code's stack below its first caller's frame: thus addresses on the stack do not depend on the
// caller.
constexpr uint64_t kEngineStack = 64 * 1024;
// Size of the stack that is cleared: bytes of earlier calls would be found in the padding of objects.
constexpr uint64_t kClearedStack = 8 * 1024;

// The byte in memory that a variant of an execution has not initialised.
constexpr uint8_t kOtherFill = 0xA7;

#if defined(__has_feature) && __has_feature(address_sanitizer)
// Copies word by word, also the words that the sanitizer has put between variables.
[[clang::no_sanitize("address")]] void copy_stack(const volatile uint64_t* from, size_t count, uint64_t* to) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i];
}
#else
void copy_stack(const uint64_t* from, size_t count, uint64_t* to) { std::memcpy(to, from, count * sizeof *to); }
#endif

// Limit of doubts: further sentences say nothing new to anyone.
constexpr size_t kMostDoubts = 16;

// Signals that a fault of target code raises. Any other signal, and any signal outside an execution, is the engine's
// own. A fault of an instruction of the engine while target code runs (a hook, a query's own code) is the engine's,
// too. As a finding of the target it could not be fixed by anyone. The process dies, and its parent says `unknown`.

// The place where glibc keeps the message that an assertion, or its own checks of the heap, printed before an abort.
// The pointer is null if there is no message.
struct AbortMessage {
  unsigned size;  // size of the mapping that has the message
  char text[];
};
AbortMessage** const abort_message = static_cast<AbortMessage**>(dlvsym(RTLD_DEFAULT, "__abort_msg", "GLIBC_PRIVATE"));

std::string take_abort_message() {
  if (abort_message == nullptr || *abort_message == nullptr) return "";
  std::string text = std::exchange(*abort_message, nullptr)->text;
  // "powercut-engine: map.c:42: open: Assertion `count > 0' failed.\n": it stands in a sentence.
  if (const std::string name = std::string(program_invocation_short_name) + ": "; text.starts_with(name)) {
    text.erase(0, name.size());
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  return text;
}

// The C library that aborts keeps no frame pointers, so a walk along them ends in it. Its unwinding tables lead to the
// innermost frame of instrumented code, from which an ordinary walk goes on.
std::vector<uint64_t> callers_of_abort() {
  struct Caller {
    const void* pc = nullptr;
    const void* frame = nullptr;
  } caller;
  const auto look = [](_Unwind_Context* context, void* found) {
    constexpr int kFramePointer = 6;  // number of the register in these tables
    const auto* pc = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    if (powercut_code(pc) != POWERCUT_INSTRUMENTED) return _URC_NO_REASON;
    *static_cast<Caller*>(found) = {pc, reinterpret_cast<const void*>(_Unwind_GetGR(context, kFramePointer))};
    return _URC_END_OF_STACK;
  };
  _Unwind_Backtrace(look, &caller);
  if (caller.pc == nullptr) return {};
  return CodePlace{caller.pc, caller.frame}.stack();
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const auto* machine = static_cast<const ucontext_t*>(context);
  const bool ours = current == nullptr || !current->running() ||
                    current->owns_code(static_cast<uint64_t>(machine->uc_mcontext.gregs[REG_RIP]));
  if (ours) return die_of(signal);
  const QuietHeap quiet;  // the outcome outlives the target's heap
  const auto reg = [machine](int name) { return static_cast<uint64_t>(machine->uc_mcontext.gregs[name]); };
  const CodePlace place{reinterpret_cast<void*>(reg(REG_RIP) + 1), reinterpret_cast<void*>(reg(REG_RBP))};
  Outcome outcome;
  outcome.kind = signal == SIGABRT ? Outcome::Kind::kAbort : Outcome::Kind::kSignal;
  outcome.signal = signal;
  outcome.address = signal == SIGABRT ? 0 : reinterpret_cast<uint64_t>(info->si_addr);
  outcome.stack = place.stack();
  if (signal == SIGABRT) {
    outcome.text = take_abort_message();
    const std::vector<uint64_t> callers = callers_of_abort();
    if (!callers.empty()) {
      outcome.stack.resize(1);
      outcome.stack.insert(outcome.stack.end(), callers.begin(), callers.end());
    }
  }
  current->stop(std::move(outcome));
}

bool runs_target_code(uint64_t pc) { return current != nullptr && current->running() && !current->owns_code(pc); }

void cannot_follow(const std::string& what, const void* pc, const void* frame) {
  const QuietHeap quiet;
  current->give_up(what, {pc, frame});
}

void blocked(const void* pc, const void* frame) { current->hang({pc, frame}); }

// Returns whether the target calls uninstrumented code that may store to the target's heap or globals. The end of an
// exception stores to the exception alone, and sigaction to a place of the caller's, on the stack as a rule.
bool calls_code_that_stores() {
  std::array<const char*, 256> names{};
  const uint32_t count = powercut_externals(names.data(), names.size());
  const auto is_known = [](const char* name) {
    const std::string_view text = name;
    return text == "std::exception::~exception()" || text == "sigaction";
  };
  return count > names.size() || !std::all_of(names.begin(), names.begin() + count, is_known);
}

void install_signal_handlers() {
  static bool done = false;
  if (done) return;
  done = true;
  handle_faults(on_signal);
}

}  // namespace

MemoryRange executable_code() {
  return {reinterpret_cast<uint64_t>(__executable_start), reinterpret_cast<uint64_t>(etext)};
}

TargetRunner::TargetRunner(const Options& options, UndecidedMemory* memory)
    : options_(options), memory_(memory), stack_(own_stack()) {
  install_signal_handlers();
  watch_traps(memory->pool_size(), {.running = runs_target_code, .cannot_follow = cannot_follow, .blocked = blocked});
  current = this;
}

TargetRunner::~TargetRunner() {
  current = nullptr;
  unwatch_traps();
}

// Uninstrumented code counts as met if it has touched the pool. It also counts if the target calls uninstrumented
// functions that may store. Functions that balance a std::map are an example: they touch the heap alone. Libraries may
// be loaded between two executions.
bool TargetRunner::met_other_code() {
  static uint32_t modules = 0;
  static bool calls_others = false;
  if (modules != powercut_modules()) {
    modules = powercut_modules();
    calls_others = calls_code_that_stores();
  }
  return calls_others || traps_ever();
}

void TargetRunner::place_stack() {
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (stack_end_ != nullptr && here > reinterpret_cast<uint64_t>(stack_end_) + kEngineStack / 4) return;
  stack_end_ = reinterpret_cast<const uint64_t*>((here - kEngineStack) & ~uint64_t{63});
}

void TargetRunner::clear_stack_below() {
  place_stack();
  const uint64_t end = reinterpret_cast<uint64_t>(stack_end_);
  std::memset(reinterpret_cast<void*>(end - kClearedStack), variant_ == 0 ? 0 : kOtherFill, kClearedStack);
}

Outcome TargetRunner::run(uint64_t load_end, const std::function<void()>& body) {
  body_ = &body;
  place_stack();
  work_beside = {};
  return guard(load_end, [] {}, [this] { powercut_enter(stack_end_, call, this); });
}

MachineState TargetRunner::state(LiveState live) const {
  MachineState out;
  out.at = live.words;
  out.words.resize(static_cast<size_t>(stack_end_ - live.words));
  copy_stack(live.words, out.words.size(), out.words.data());
  asm("stmxcsr %0" : "=m"(out.mxcsr));
  asm("fnstcw %0" : "=m"(out.x87_control));
  out.error = errno;
  out.exceptions = exception_state();
  out.beside = beside_;
  return out;
}

Outcome TargetRunner::go_on(uint64_t load_end, const MachineState& state, uint64_t result,
                            absl::FunctionRef<void()> restore) {
  stack_end_ = state.at + state.words.size();  // a run since then may have been called from deeper
  return guard(load_end, restore, [&] {
    set_exception_state(state.exceptions);
    beside_ = state.beside;
    asm("ldmxcsr %0" : : "m"(state.mxcsr));
    asm("fldcw %0" : : "m"(state.x87_control));
    errno = state.error;
    powercut_go_on(stack_end_, state.at, state.words.data(), state.words.size(), result);
  });
}

// Calls the body on target code's stack. No exception leaves the function.
void TargetRunner::call(void* self) {
  auto* runner = static_cast<TargetRunner*>(self);
  try {
    (*runner->body_)();
  } catch (const std::exception& error) {
    runner->outcome_.kind = Outcome::Kind::kException;
    arena_active = false;
    runner->outcome_.text = error.what();
  } catch (...) {
    runner->outcome_.kind = Outcome::Kind::kException;
  }
}

Outcome TargetRunner::guard(uint64_t load_end, absl::FunctionRef<void()> prepare, absl::FunctionRef<void()> enter) {
  outcome_ = Outcome{};
  // Call stacks end here: the engine's own frames say nothing about the program.
  powercut_stack_range(reinterpret_cast<const void*>(stack_.begin), stack_end_);
  __powercut_store_window = {0, ~uint64_t{0}};
  __powercut_load_window = {kPoolBase, load_end - kPoolBase};
  __powercut_real_flush = 0;
  const bool watches_more = met_other_code();
  if (watches_more) other_memory_.keep(*memory_);
  begin_traps();
  __powercut_steps = loop_.begin(options_.step_budget) - 1;
  steps_left_.reset();
  beside_ = false;
  virtual_world.variant = variant_;
  arena_events.fill = variant_ == 0 ? 0 : kOtherFill;
  memory_->begin_execution(variant_ == 0 ? 0 : kHeapShift);
  prepare();
  // If a jump leaves an exception, its entry in the runtime's record would be met by the next exception.
  const ExceptionState exceptions = exception_state();
  errno = 0;
  // The one place that switches the target's heap on. Nothing below is unwound when the target is left by a jump.
  if (sigsetjmp(escape_, 0) == 0) {
    running_ = true;
    arena_active = true;
    enter();
  }
  arena_active = false;
  running_ = false;
  __powercut_store_window = {0, 0};
  __powercut_load_window = {0, 0};
  if (watches_more) other_memory_.note_changes(memory_);
  if (options_.after_each) options_.after_each();
  virtual_world.variant = 0;
  arena_events.fill = 0;
  set_exception_state(exceptions);
  if (outcome_.kind == Outcome::Kind::kUnknown) {
    doubt("target code was not followed to its end" + place_of(outcome_.stack) + ": " + outcome_.text);
  }
  return std::move(outcome_);
}

void TargetRunner::stop(Outcome outcome) {
  leave_trap();
  running_ = false;
  arena_active = false;
  outcome_ = std::move(outcome);
  siglongjmp(escape_, 1);
}

void TargetRunner::give_up(std::string sentence, CodePlace place) {
  const QuietHeap quiet;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kUnknown;
  outcome.text = std::move(sentence);
  outcome.stack = place.stack();
  stop(std::move(outcome));
}

void TargetRunner::hang(CodePlace place, std::string what) {
  const QuietHeap quiet;
  Outcome outcome;
  outcome.kind = Outcome::Kind::kSteps;
  outcome.text = std::move(what);
  outcome.stack = place.stack();
  stop(std::move(outcome));
}

void TargetRunner::doubt(std::string sentence) {
  if (doubts_.size() < kMostDoubts && std::find(doubts_.begin(), doubts_.end(), sentence) == doubts_.end()) {
    doubts_.push_back(std::move(sentence));
  }
}

std::string TargetRunner::place_of(const std::vector<uint64_t>& stack) const {
  for (uint64_t address : stack) {
    Dl_info info{};
    const auto* place = reinterpret_cast<const void*>(address - 1);
    if (options_.own_code.holds(address, 1) || dladdr(place, &info) == 0 || info.dli_fname == nullptr) continue;
    const std::string_view path = info.dli_fname;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libpowercut_rt") || name.starts_with("libc.") || name.starts_with("libstdc++")) continue;
    char offset[32];
    std::snprintf(offset, sizeof offset, "+0x%lx", address - 1 - reinterpret_cast<uint64_t>(info.dli_fbase));
    const std::string function = info.dli_sname == nullptr ? "" : std::string(" (") + info.dli_sname + ")";
    return " at " + std::string(name) + offset + function;
  }
  return "";
}

void TargetRunner::want_step() {
  if (steps_left_) return;
  steps_left_ = __powercut_steps;
  __powercut_steps = 0;
}

bool TargetRunner::take_wanted_step() {
  if (!steps_left_) return false;
  __powercut_steps = *steps_left_ - 1;
  steps_left_.reset();
  return true;
}

// Returns a description of a loop that reads one word of the pool, over and over; empty for any other loop.
std::string TargetRunner::waited_for() const {
  if (loaded_ == kNothing || several_loaded_) return "";
  return "it waits for the word at offset " + std::to_string(loaded_) + " of the pool, which nobody will change";
}

// On this frame nothing owns memory: an execution may be left in here, and gone on with. The state that has come back
// is compared with the state after the work only if the journal has every store in between. If the watch has counted
// further steps, stores may be missing, and the work counts as a change.
bool TargetRunner::others_work() {
  if (work_beside.work == nullptr || beside_) return false;
  const uint64_t words = memory_->mark().words, heap = arena.top;
  const int64_t steps = loop_.steps();
  beside_ = true;
  __powercut_steps = loop_.go_on() - 1;
  arena_active = true;
  bool worked = false;
  try {
    worked = work_beside.work(work_beside.self);
  } catch (...) {
    arena_active = false;
    Outcome thrown;
    thrown.kind = Outcome::Kind::kException;
    stop(std::move(thrown));
  }
  arena_active = false;
  beside_ = false;
  const auto slept = reinterpret_cast<uint64_t>(&virtual_world.state.slept);
  return worked && (loop_.steps() != steps || arena.top != heap || !memory_->unchanged_since(words, slept));
}

void TargetRunner::on_steps(LiveState live) {
  const QuietHeap quiet;
  const bool looked = loop_.looking();
  int64_t granted = 0;
  // Sleeping changes nothing; reading the clock does.
  const auto slept = reinterpret_cast<uint64_t>(&virtual_world.state.slept);
  const LoopWatch::Found found = loop_.step(
      live, stack_end_,
      [this] {
        heap_at_look_ = arena.top;
        loaded_ = kNothing;
        several_loaded_ = false;
        return memory_->mark().words;
      },
      [&](uint64_t words) { return arena.top == heap_at_look_ && memory_->unchanged_since(words, slept); }, &granted);
  const CodePlace place{live.pc(), live.frame()};
  if (found == LoopWatch::Found::kRepeats) {
    if (!others_work()) hang(place, waited_for());
    granted = loop_.go_on();
  }
  if (found == LoopWatch::Found::kSpent) {
    give_up("it took " + std::to_string(loop_.steps()) +
                " loop turns and calls, and its state did not repeat: raise --step-budget",
            place);
  }
  // Stores to what this execution has allocated need no undoing, and are kept only to be compared.
  if (looked != loop_.looking()) memory_->keep_fresh(/*all=*/loop_.looking());
  __powercut_steps = granted - 1;
}

}  // namespace powercut
