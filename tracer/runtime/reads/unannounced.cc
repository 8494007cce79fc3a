#include "tracer/runtime/reads/unannounced.h"

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <iterator>

#include "tracer/format/trace.h"
#include "tracer/runtime/reads/followed_pools.h"
#include "tracer/runtime/reads/kernel.h"

namespace powercut::runtime {
namespace {

constexpr greg_t kTrapFlag = 0x100;
constexpr greg_t kWrites = 2;  // of a page fault's error code
// Faults on one page without one on another between them, before the page stays open.
constexpr uint32_t kManyInARow = 32;

struct Steps {
  powercut_read_log* log = nullptr;
  uint64_t open[4];  // pages that the instruction at hand needs
  uint32_t count = 0;
  uint64_t page = 0;  // of the last fault
  uint32_t in_a_row = 0;
};
constinit Steps steps{};

// As it would without us: the instruction faults once more, a signal that somebody sent comes again.
void die_by(int number, const siginfo_t* info) {
  default_action(number);
  if (info->si_code <= 0) kernel(SYS_tgkill, kernel(SYS_getpid), kernel(SYS_gettid), number);
}

void faulted(int number, siginfo_t* info, void* raw) {
  ucontext_t& context = *static_cast<ucontext_t*>(raw);
  greg_t* const registers = context.uc_mcontext.gregs;
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  const uint64_t page = address / kReadsPage * kReadsPage;
  if (info->si_code <= 0 || !closed_area().holds(address) || !open_page(page, (registers[REG_ERR] & kWrites) != 0)) {
    return die_by(number, info);
  }
  ++steps.log->unannounced;
  steps.in_a_row = page == steps.page ? steps.in_a_row + 1 : 0;
  steps.page = page;
  if (steps.in_a_row >= kManyInARow || steps.count == std::size(steps.open) ||
      !accesses_one_piece(reinterpret_cast<const uint8_t*>(registers[REG_RIP]))) {
    access_memory(page, kReadsPage, false);
    return;
  }
  access_memory(address, std::min(kLineSize, page + kReadsPage - address), false);
  steps.open[steps.count++] = page;
  registers[REG_EFL] |= kTrapFlag;
}

void stepped(int number, siginfo_t* info, void* raw) {
  if (steps.count == 0) return die_by(number, info);
  while (steps.count > 0) close_page(steps.open[--steps.count]);
  static_cast<ucontext_t*>(raw)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
}

bool within(uint8_t code, uint8_t first, uint8_t last) { return code >= first && code <= last; }

// Of the maps of opcodes behind 0F, 0F 38 and so on, by their numbers in VEX and EVEX.
bool one_piece_of_map(uint8_t map, uint8_t code) {
  switch (map) {
    case 1:
      return code != 0xae && code != 0xc7;  // the states of the processor
    case 2:
      // Tiles, gathers, scatters, stores from memory to memory.
      return code != 0x49 && code != 0x4b && !within(code, 0x90, 0x93) && !within(code, 0xa0, 0xa3) && code != 0xc6 &&
             code != 0xc7 && code != 0xf8;
    case 3:
    case 5:
    case 6:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool accesses_one_piece(const uint8_t* at) {
  const auto is_prefix = [](uint8_t byte) {
    switch (byte) {
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x64:
      case 0x65:
      case 0x66:
      case 0x67:
      case 0xf0:
      case 0xf2:
      case 0xf3:
        return true;
      default:
        return false;
    }
  };
  while (is_prefix(*at)) ++at;
  if (within(*at, 0x40, 0x4f)) ++at;
  switch (*at) {
    case 0x0f:
      if (at[1] == 0x38) return one_piece_of_map(2, at[2]);
      if (at[1] == 0x3a) return one_piece_of_map(3, at[2]);
      return one_piece_of_map(1, at[1]);
    case 0xc5:
      return one_piece_of_map(1, at[2]);
    case 0xc4:
      return one_piece_of_map(at[1] & 0x1f, at[3]);
    case 0x62:
      return one_piece_of_map(at[1] & 7, at[4]);
    case 0x8f:  // a pop, or an extension of another vendor's
    case 0xc8:
      return false;
    default:
      // Moves and comparisons of strings have two operands; the coprocessor has states.
      return !within(*at, 0xa4, 0xa7) && !within(*at, 0xd8, 0xdf);
  }
}

void see_unannounced(powercut_read_log* log) {
  steps.log = log;
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  action.sa_sigaction = faulted;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = stepped;
  sigaction(SIGTRAP, &action, nullptr);
}

}  // namespace powercut::runtime
