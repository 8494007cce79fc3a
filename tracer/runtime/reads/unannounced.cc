#include "tracer/runtime/reads/unannounced.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>

#include "tracer/format/trace.h"
#include "tracer/runtime/instructions/repeated_access.h"
#include "tracer/runtime/reads/decode.h"
#include "tracer/runtime/reads/followed_pools.h"
#include "tracer/runtime/reads/kernel.h"
#include "tracer/runtime/reads/other_threads.h"

namespace powercut::runtime {
namespace {

using Access = TrappedAccess;

constexpr greg_t kTrapFlag = 0x100;
constexpr greg_t kArithmetic = 0x8d5;  // carry, parity, half carry, zero, sign, overflow
constexpr greg_t kWrites = 2;          // the bit of writes in a page fault's error code
// How many faults a page has before it stays open. A fault costs some microseconds.
constexpr uint32_t kManyOfAPage = 512;
// How many faults a run may have. The Valgrind tool takes less time for more faults.
constexpr uint32_t kMost = 1 << 15;

struct Steps {
  powercut_read_log* log = nullptr;
  powercut_decode_function* decode = nullptr;
  uint64_t open[4];  // pages that the instruction at hand needs
  uint32_t count = 0;
};
constinit Steps steps{};

// Does what would happen without this library: the instruction faults once more, or a signal that somebody sent comes
// again.
void die_by(int number, const siginfo_t* info) {
  default_action(number);
  if (info->si_code <= 0) kernel(SYS_tgkill, kernel(SYS_getpid), kernel(SYS_gettid), number);
}

uint64_t value_of(const greg_t* registers, int number) { return static_cast<uint64_t>(registers[number]); }

void access_range(const Access::Range& range, bool masked) {
  access_memory(range.address, range.size, range.written && !range.read && !masked);
}

// Does a whole `rep movs` or `rep stos`. Returns false if the processor is to go turn by turn.
bool repeated(const Access& access, greg_t* registers) {
  const std::optional<RepeatedAccess> all = RepeatedAccess::of(access, registers);
  if (!all) return false;
  auto* const to = reinterpret_cast<uint8_t*>(place_in_pools(all->target));
  if (all->moves) access_memory(all->source, all->size, false);
  access_memory(all->target, all->size, true);
  if (all->moves) {
    std::memmove(to, reinterpret_cast<const void*>(place_in_pools(all->source)), all->size);
  } else {
    all->fill(access, registers, to);
  }
  all->finish(access, registers);
  return true;
}

uint64_t load(uint64_t address, uint64_t size) {
  uint64_t out = 0;
  std::memcpy(&out, reinterpret_cast<const void*>(place_in_pools(address)), size);
  return out;
}

// Returns the result of an operation on two values of one size; sets the processor's flags in `flags`.
template <typename T>
uint64_t operate(Access::Simple::Operation operation, T to, T from, greg_t* flags) {
  using Operation = Access::Simple::Operation;
  uint64_t after = 0;
// The compiler may keep something below the stack pointer, so the flags are pushed behind that area.
#define POWERCUT_FLAGS "\n\tlea -128(%%rsp), %%rsp\n\tpushfq\n\tpopq %1\n\tlea 128(%%rsp), %%rsp"
#define POWERCUT_OPERATE(name) asm(name " %2, %0" POWERCUT_FLAGS : "+r"(to), "=&r"(after) : "r"(from) : "cc")
  switch (operation) {
    case Operation::kAdd:
      POWERCUT_OPERATE("add");
      break;
    case Operation::kSubtract:
      POWERCUT_OPERATE("sub");
      break;
    case Operation::kAnd:
      POWERCUT_OPERATE("and");
      break;
    case Operation::kOr:
      POWERCUT_OPERATE("or");
      break;
    case Operation::kXor:
      POWERCUT_OPERATE("xor");
      break;
    case Operation::kCompare:
      POWERCUT_OPERATE("cmp");
      break;
    case Operation::kTest:
      POWERCUT_OPERATE("test");
      break;
    case Operation::kNone:
    case Operation::kMove:
      return from;
  }
#undef POWERCUT_OPERATE
#undef POWERCUT_FLAGS
  *flags = (*flags & ~kArithmetic) | (static_cast<greg_t>(after) & kArithmetic);
  return to;
}

uint64_t operate(const Access::Simple& simple, uint64_t to, uint64_t from, greg_t* flags) {
  switch (simple.size) {
    case 1:
      return operate(simple.operation, static_cast<uint8_t>(to), static_cast<uint8_t>(from), flags);
    case 2:
      return operate(simple.operation, static_cast<uint16_t>(to), static_cast<uint16_t>(from), flags);
    case 4:
      return operate(simple.operation, static_cast<uint32_t>(to), static_cast<uint32_t>(from), flags);
    default:
      return operate(simple.operation, to, from, flags);
  }
}

uint64_t widened(uint64_t value, const Access::Simple& simple) {
  if (!simple.sign) return value;
  const unsigned above = CHAR_BIT * (sizeof value - simple.from_size);
  return static_cast<uint64_t>(static_cast<int64_t>(value << above) >> above);
}

// Does the instruction here, which takes a fifth of the time of a step and works for most accesses. Returns false for
// every other instruction.
bool done_here(const Access& access, greg_t* registers) {
  using Operation = Access::Simple::Operation;
  const Access::Simple& simple = access.simple;
  const bool compares = simple.operation == Operation::kCompare || simple.operation == Operation::kTest;
  const bool loads = !simple.to_memory || compares, moves = simple.operation == Operation::kMove;
  if (simple.operation == Operation::kNone || !(loads || moves)) return false;
  const uint64_t address = access.ranges[0].address;
  // The instruction reaches over an end of the pool.
  if (!closed_area().holds(address + access.ranges[0].size - 1)) return false;
  const uint64_t general = simple.general < 0 ? simple.constant : value_of(registers, simple.general);
  if (simple.to_memory && moves) {
    std::memcpy(reinterpret_cast<void*>(place_in_pools(address)), &general, simple.size);
  } else {
    const uint64_t there = load(address, access.ranges[0].size);
    const uint64_t to = simple.to_memory ? there : general, from = simple.to_memory ? general : widened(there, simple);
    const uint64_t value = operate(simple, to, from, &registers[REG_EFL]);
    if (!compares) {
      // An operation on half of a register leaves zeroes above; an operation on less leaves the bytes above as they
      // were.
      const uint64_t kept = simple.size >= 4 ? 0 : general >> simple.size * CHAR_BIT << simple.size * CHAR_BIT;
      const uint64_t mask = simple.size == 8 ? ~uint64_t{0} : (uint64_t{1} << simple.size * CHAR_BIT) - 1;
      registers[simple.general] = static_cast<greg_t>(kept | (value & mask));
    }
  }
  registers[REG_RIP] += access.length;
  return true;
}

enum class Seen : uint8_t { kDone, kStep, kWholePage };

// Takes in the bytes that the instruction accesses by its operands.
Seen by_operands(uint64_t fault, const ucontext_t& context, greg_t* registers) {
  Access access;
  steps.decode(&context, &access);
  switch (access.kind) {
    case Access::Kind::kFlush:  // a flush accesses no byte, and is of no use in an ordinary file
      registers[REG_RIP] += access.length;
      return Seen::kDone;
    case Access::Kind::kRepeatedMove:
    case Access::Kind::kRepeatedFill:
      if (repeated(access, registers)) return Seen::kDone;
      break;
    case Access::Kind::kPlain:
    case Access::Kind::kLocked:
      break;
    case Access::Kind::kUnknown:
    case Access::Kind::kFence:
    case Access::Kind::kOther:
      return Seen::kWholePage;
  }
  const std::span ranges = std::span(access.ranges).first(access.count);
  // The fault is outside of all operands: bits far from an operand, a table behind it, an operand that is not listed.
  const auto covers = [fault](const Access::Range& range) { return fault - range.address < range.size; };
  if (std::ranges::none_of(ranges, covers)) return Seen::kWholePage;
  for (const Access::Range& range : ranges) access_range(range, access.masked);
  return done_here(access, registers) ? Seen::kDone : Seen::kStep;
}

// The thread's turn lasts until stepped() where the instruction runs alone.
void faulted(int number, siginfo_t* info, void* raw) {
  const Alone turn;
  ucontext_t& context = *static_cast<ucontext_t*>(raw);
  greg_t* const registers = context.uc_mcontext.gregs;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const uint64_t page = address / kReadsPage * kReadsPage;
  const bool to_write = (registers[REG_ERR] & kWrites) != 0;
  if (info->si_code > 0 && to_write && first_write(address)) return;
  if (info->si_code <= 0 || !closed_area().holds(address) || !may_access(page, to_write)) return die_by(number, info);
  if (std::atomic_ref(steps.log->unannounced).fetch_add(1) >= kMost)
    refuse("it reads its pools so often that the Valgrind tool takes less time");
  Seen seen = Seen::kWholePage;
  if (steps.count < std::size(steps.open) && count_fault(page) < kManyOfAPage) {
    seen = by_operands(address, context, registers);
  }
  const bool all = all_accessed(page);
  if (seen == Seen::kDone && !all) return;
  if (seen == Seen::kWholePage) access_memory(page, kReadsPage, false);
  const bool alone = seen == Seen::kStep && !all;
  if (alone && steps.count == 0) {
    take_turn();
    stop_others();
  }
  open_page(page);
  if (!alone) return;
  steps.open[steps.count++] = page;
  registers[REG_EFL] |= kTrapFlag;
}

void stepped(int number, siginfo_t* info, void* raw) {
  if (stopped_by(info)) return;
  if (steps.count == 0) return die_by(number, info);
  while (steps.count > 0) close_page(steps.open[--steps.count]);
  go_on();
  give_turn();
  static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
}

}  // namespace

bool see_unannounced(powercut_read_log* log) {
  steps.log = log;
  // The library lies beside this one, whose run path leads there.
  void* const library = dlopen(POWERCUT_DECODE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) {
    steps.decode = reinterpret_cast<powercut_decode_function*>(dlsym(library, "powercut_decode"));
  }
  struct sigaction action{};
  // Calls of a thread that is stopped go on after the signal.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
  action.sa_sigaction = faulted;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = stepped;
  sigaction(SIGTRAP, &action, nullptr);
  return steps.decode != nullptr;
}

}  // namespace powercut::runtime
