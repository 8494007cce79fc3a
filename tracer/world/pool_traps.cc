#include "tracer/world/pool_traps.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unwind.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/system_call.h"
#include "tracer/runtime/hooks.h"
#include "tracer/runtime/instructions/repeated_access.h"
#include "tracer/runtime/instructions/trapped_access.h"
#include "tracer/runtime/watch_hooks.h"
#include "tracer/world/arena.h"
#include "tracer/world/code_place.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_memory.h"
#include "tracer/world/quiet_heap.h"

namespace powercut {
namespace {

using Kind = TrappedAccess::Kind;
using Range = TrappedAccess::Range;

constexpr uint32_t kMostTraps = 1'000'000;  // some seconds
constexpr greg_t kTrapFlag = 0x100, kZeroFlag = 0x40;

// Signal handlers take no argument of ours.
struct State {
  uint64_t size = 0;  // of the pool; 0: nobody watches
  TrapClient client;
  struct sigaction before_fault{}, before_trap{};

  bool stepping = false;   // one instruction runs with its pages accessible
  bool following = false;  // until the fence behind a flush
  uint32_t followed = 0;   // instructions of it
  bool ever = false;
  uint32_t traps = 0;        // of the execution at hand
  bool second_turn = false;  // of a store under a mask
  TrappedAccess access;
  uint64_t pc = 0;
  const ucontext_t* context = nullptr;    // of the handler that runs
  std::optional<CodePlace> place;         // looked up once for an access, when somebody wants to know
  std::array<uint64_t, 64> first_turn{};  // what it left, a word for each byte of the range
};
State state;

uint64_t reg(const ucontext_t& context, int which) { return static_cast<uint64_t>(context.uc_mcontext.gregs[which]); }

bool in_pool(uint64_t address) { return address - kPoolBase < state.size; }
bool touches_pool(const Range& range) {
  return range.size != 0 && (in_pool(range.address) || in_pool(range.address + range.size - 1));
}
bool whole_in_pool(const Range& range) { return in_pool(range.address) && in_pool(range.address + range.size - 1); }

uint8_t* at(uint64_t address) { return reinterpret_cast<uint8_t*>(address); }
uint8_t* bytes_of(uint64_t address) { return at(address + kPoolShift); }

// The part of the range that the pool has.
Range in_the_pool(const Range& range) {
  const uint64_t begin = std::max(range.address, kPoolBase);
  const uint64_t end = std::min(range.address + range.size, kPoolBase + state.size);
  return {begin, end - begin, range.read, range.written};
}

// Whose code: a place in instrumented code names the line that the reader knows.
struct Search {
  CodePlace found;
  int frames = 0;
};

_Unwind_Reason_Code look(struct _Unwind_Context* frame, void* raw) {
  auto* search = static_cast<Search*>(raw);
  const auto pc = static_cast<uint64_t>(_Unwind_GetIP(frame));
  constexpr int kDeepest = 64, kRbp = 6;
  if (pc == 0 || ++search->frames > kDeepest) return _URC_END_OF_STACK;
  if (powercut_code(reinterpret_cast<const void*>(pc)) != POWERCUT_INSTRUMENTED) return _URC_NO_REASON;
  search->found = {reinterpret_cast<const void*>(pc), reinterpret_cast<const void*>(_Unwind_GetGR(frame, kRbp))};
  return _URC_END_OF_STACK;
}

CodePlace place_of_code(const ucontext_t& context) {
  Search search;
  _Unwind_Backtrace(look, &search);
  if (search.found.pc != nullptr) {
    // A return address, as the hooks give it: one byte back lies in the instruction.
    if (reinterpret_cast<uint64_t>(search.found.pc) != reg(context, REG_RIP)) return search.found;
    search.found.pc = at(reg(context, REG_RIP) + 1);
    return search.found;
  }
  return {at(reg(context, REG_RIP) + 1), at(reg(context, REG_RBP))};
}

const CodePlace& place() {
  if (!state.place) state.place = place_of_code(*state.context);
  return *state.place;
}

// ---- announcing ------------------------------------------------------------------------------------

template <typename Say>
void announce(const Say& say) {
  powercut_sink sink;
  powercut_get_sink(&sink);
  say(sink);
}

bool overlaps(const powercut_window& window, const Range& range) {
  return window.span != 0 && (range.address - window.base < window.span || window.base - range.address < range.size);
}

void announce_load(const Range& range) {
  if (!overlaps(__powercut_load_window, range)) return;
  announce([&](const powercut_sink& sink) { sink.load(sink.self, range.address, range.size); });
}

void announce_store(const Range& range, uint32_t flags, const void* value) {
  if (!overlaps(__powercut_store_window, range)) return;
  announce([&](const powercut_sink& sink) {
    sink.store(sink.self, range.address, range.size, flags, value, place().pc, place().frame);
  });
}

[[noreturn]] void cannot_follow(const std::string& why) {
  Dl_info where{};
  std::string text = why + ": " + instruction_text(state.pc);
  if (dladdr(at(state.pc), &where) != 0 && where.dli_fname != nullptr) {
    char offset[32];
    snprintf(offset, sizeof offset, "+0x%llx",
             static_cast<unsigned long long>(state.pc - reinterpret_cast<uint64_t>(where.dli_fbase)));
    text += std::string(" at ") + where.dli_fname + offset;
    if (where.dli_sname != nullptr) text += std::string(" (") + where.dli_sname + ")";
  }
  leave_trap();
  state.client.cannot_follow(text, place().pc, place().frame);
  std::abort();
}

// ---- one instruction -------------------------------------------------------------------------------

void protect(const Range& range, int protection) {
  const uint64_t begin = range.address / kPageSize * kPageSize;
  const uint64_t end = (range.address + range.size + kPageSize - 1) / kPageSize * kPageSize;
  if (system_call(SYS_mprotect, at(begin), end - begin, protection) != 0) std::abort();
}

void open_pages(bool with_bytes) {
  for (uint8_t i = 0; i < state.access.count; ++i) {
    if (!touches_pool(state.access.ranges[i])) continue;
    const Range range = in_the_pool(state.access.ranges[i]);
    protect(range, PROT_READ | PROT_WRITE);
    if (with_bytes) std::memcpy(at(range.address), bytes_of(range.address), range.size);
  }
}

// Leaves nothing behind: a byte of the pool's own address that is not zero was written by the kernel.
void close_pages() {
  for (uint8_t i = 0; i < state.access.count; ++i) {
    if (!touches_pool(state.access.ranges[i])) continue;
    const Range range = in_the_pool(state.access.ranges[i]);
    std::memset(at(range.address), 0, range.size);
  }
  for (uint8_t i = 0; i < state.access.count; ++i) {
    if (touches_pool(state.access.ranges[i])) protect(in_the_pool(state.access.ranges[i]), PROT_NONE);
  }
}

void step_over(ucontext_t* context) {
  state.stepping = true;
  context->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
}

Range* written_range() {
  for (uint8_t i = 0; i < state.access.count; ++i) {
    Range& range = state.access.ranges[i];
    if (range.written && touches_pool(range)) return &range;
  }
  return nullptr;
}

// A whole `rep movs` or `rep stos`. False: it is to go turn by turn, as the processor would stop in it.
bool do_repeated(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  const std::optional<RepeatedAccess> all = RepeatedAccess::of(state.access, registers);
  if (!all) return false;
  const Range target{all->target, all->size, false, true};
  const Range source{all->source, all->size, true, false};
  for (const Range& range : {target, source}) {
    if ((all->moves || range.written) && touches_pool(range) && !whole_in_pool(range)) return false;
  }
  const auto place = [](const Range& range) {
    return whole_in_pool(range) ? bytes_of(range.address) : at(range.address);
  };
  std::string filled;
  const uint8_t* from = place(source);
  if (all->moves) {
    if (touches_pool(source)) announce_load(source);
  } else {
    filled.resize(all->size);
    all->fill(state.access, registers, reinterpret_cast<uint8_t*>(filled.data()));
    from = reinterpret_cast<const uint8_t*>(filled.data());
  }
  if (touches_pool(target)) announce_store(target, POWERCUT_STORE_MEMCALL, from);
  std::memmove(place(target), from, all->size);
  all->finish(state.access, registers);
  return true;
}

void start_following() {
  state.following = true;
  state.followed = 0;
}

void begin_access(uint64_t fault, ucontext_t* context) {
  state.pc = reg(*context, REG_RIP);
  state.place.reset();
  if (state.stepping) cannot_follow("an instruction accesses more of the pool than it says");
  state.ever = true;
  if (++state.traps > kMostTraps) cannot_follow("uninstrumented code does not come to an end");
  state.access = decode_access(*context);
  TrappedAccess& access = state.access;
  if (access.kind == Kind::kFlush) {
    announce([&](const powercut_sink& sink) {
      sink.flush(sink.self, access.ranges[0].address, access.code, place().pc, place().frame);
    });
    context->uc_mcontext.gregs[REG_RIP] += access.length;
    start_following();
    return;
  }
  if (access.kind == Kind::kRepeatedMove || access.kind == Kind::kRepeatedFill) {
    if (do_repeated(context)) return;
    access.kind = Kind::kPlain;
  }
  if (access.kind != Kind::kPlain && access.kind != Kind::kLocked) cannot_follow("an access that is not modelled");
  bool covered = false;
  for (uint8_t i = 0; i < access.count; ++i) {
    const Range& range = access.ranges[i];
    covered = covered || fault - range.address < range.size;
    if (!touches_pool(range)) continue;
    if (range.written && !whole_in_pool(range)) {
      // A listener that guards the pool's ends stops it.
      const std::array<uint8_t, 64> nothing{};
      announce_store(range, access.code, nothing.data());
      cannot_follow("a store across the end of the pool");
    }
  }
  if (!covered) cannot_follow("an access at another place than decoded");
  if (access.kind == Kind::kLocked) {
    const Range* range = written_range();
    if (range == nullptr) cannot_follow("a locked instruction of several objects");
    announce([&](const powercut_sink& sink) {
      sink.rmw_begin(sink.self, range->address, range->size, place().pc, place().frame);
    });
  } else {
    for (uint8_t i = 0; i < access.count; ++i) {
      if (access.ranges[i].read && touches_pool(access.ranges[i])) announce_load(in_the_pool(access.ranges[i]));
    }
  }
  const bool masked_store = access.masked && written_range() != nullptr;
  if (access.masked && !masked_store) access.masked = false;
  state.second_turn = false;
  open_pages(!masked_store);
  step_over(context);
}

// A store under a mask runs twice, on zeroes and on ones: it stored the bytes that are equal after both turns. It reads
// none of these bytes, so both turns do the same.
bool goes_again(ucontext_t* context) {
  const Range& range = *written_range();
  if (!state.second_turn) {
    std::memcpy(state.first_turn.data(), at(range.address), range.size);
    std::memset(at(range.address), 0xff, range.size);
    state.second_turn = true;
    context->uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(state.pc);
    step_over(context);
    return true;
  }
  const auto* first = reinterpret_cast<const uint8_t*>(state.first_turn.data());
  for (uint64_t begin = 0; begin < range.size;) {
    uint64_t end = begin;
    while (end < range.size && first[end] == at(range.address)[end]) ++end;
    if (end != begin) {
      const Range run{range.address + begin, end - begin, false, true};
      announce_store(run, state.access.code, at(run.address));
      std::memcpy(bytes_of(run.address), at(run.address), run.size);
    }
    begin = end + 1;
  }
  return false;
}

void end_access(ucontext_t* context) {
  state.stepping = false;
  const TrappedAccess& access = state.access;
  if (access.masked) {
    if (goes_again(context)) return;
  } else if (access.kind == Kind::kLocked) {
    const Range& range = *written_range();
    const bool stored = !access.may_not_store || (context->uc_mcontext.gregs[REG_EFL] & kZeroFlag) != 0;
    std::memcpy(bytes_of(range.address), at(range.address), range.size);
    announce([&](const powercut_sink& sink) {
      sink.rmw_end(sink.self, range.address, range.size, stored ? 1 : 0, place().pc, place().frame);
    });
  } else {
    for (uint8_t i = 0; i < access.count; ++i) {
      const Range& range = access.ranges[i];
      if (!range.written || !touches_pool(range)) continue;
      announce_store(range, access.code, at(range.address));
      std::memcpy(bytes_of(range.address), at(range.address), range.size);
    }
  }
  close_pages();
  if ((access.code & POWERCUT_STORE_NT) != 0 && written_range() != nullptr) start_following();
  if (access.kind == Kind::kLocked) state.following = false;  // fenced
}

// Steps on behind a flush whose fence was not seen yet. A fence of instrumented code is announced by a hook, so that
// stepping ends where a hook is called.
void follow(ucontext_t* context) {
  const uint64_t pc = reg(*context, REG_RIP);
  constexpr uint32_t kFar = 100'000;
  if (!state.client.running(pc) || powercut_code(at(pc)) == POWERCUT_RUNTIME || ++state.followed > kFar) {
    state.following = false;
    return;
  }
  const TrappedAccess next = decode_access(*context);
  uint32_t fence = 0;
  if (next.kind == Kind::kFence) fence = next.code;
  // One of the pool faults, and fences then.
  if (next.kind == Kind::kLocked && !std::any_of(next.ranges.begin(), next.ranges.end(), touches_pool)) {
    fence = POWERCUT_RMW_FENCE;
  }
  if (fence == 0) return;
  state.following = false;
  state.place.reset();
  announce([&](const powercut_sink& sink) { sink.fence(sink.self, fence, place().pc, place().frame); });
}

void set_trap_flag(ucontext_t* context) {
  if (state.stepping || state.following) {
    context->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  } else {
    context->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  }
}

void pass_on(const struct sigaction& before, int signal, siginfo_t* info, void* context) {
  // As the kernel would have done for the handler before ours, which may raise the signal again.
  if ((before.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) ::signal(signal, SIG_DFL);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);
    raise(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* raw) {
  auto* context = static_cast<ucontext_t*>(raw);
  const auto fault = reinterpret_cast<uint64_t>(info->si_addr);
  if (state.size == 0 || info->si_code != SEGV_ACCERR || !in_pool(fault) || !state.client.running(/*pc=*/0)) {
    // Code of the engine's executable counts: a library may be bound to a template of the engine's.
    leave_trap();
    pass_on(state.before_fault, signal, info, raw);
    return;
  }
  const int error = errno;
  state.context = context;
  {
    QuietHeap quiet;
    begin_access(fault, context);
    // A flush is done: the handler looks at the instruction behind it before this one runs, as it may be the fence.
    if (!state.stepping && state.following) follow(context);
  }
  set_trap_flag(context);
  errno = error;
}

void on_trap(int signal, siginfo_t* info, void* raw) {
  auto* context = static_cast<ucontext_t*>(raw);
  if (!state.stepping && !state.following) {
    pass_on(state.before_trap, signal, info, raw);
    return;
  }
  const int error = errno;
  state.context = context;
  {
    QuietHeap quiet;
    if (state.stepping) end_access(context);
    if (!state.stepping && state.following) follow(context);
  }
  set_trap_flag(context);
  errno = error;
}

void runtime_cannot_follow(const char* what, const void* pc, const void* frame) {
  if (state.client.running(reinterpret_cast<uint64_t>(pc))) state.client.cannot_follow(what, pc, frame);
}

void runtime_blocked(const void* pc, const void* frame) {
  if (state.client.running(reinterpret_cast<uint64_t>(pc))) state.client.blocked(pc, frame);
}

}  // namespace

bool traps_ever() { return state.ever; }

void begin_traps() { state.traps = 0; }

void watch_traps(uint64_t pool_size, const TrapClient& client) {
  const bool installed = state.size != 0;
  state.size = pool_size;
  state.client = client;
  __powercut_watch = {runtime_cannot_follow, runtime_blocked};
  if (installed) return;
  stack_t now{};
  sigaltstack(nullptr, &now);
  constexpr size_t kEnough = 256 * 1024;
  if ((now.ss_flags & SS_DISABLE) != 0 || now.ss_size < kEnough) {
    stack_t larger{};
    larger.ss_size = kEnough;
    larger.ss_sp = std::malloc(larger.ss_size);
    sigaltstack(&larger, nullptr);
  }
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_sigaction = on_fault;
  sigaction(SIGSEGV, &action, &state.before_fault);
  action.sa_sigaction = on_trap;
  sigaction(SIGTRAP, &action, &state.before_trap);
}

void unwatch_traps() { state.ever = false; }

void leave_trap() {
  if (state.stepping) close_pages();
  state.stepping = state.following = false;
}

}  // namespace powercut
