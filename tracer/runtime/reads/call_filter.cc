#include "tracer/runtime/reads/call_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>

#include "tracer/runtime/reads/closed_area.h"
#include "tracer/runtime/reads/kernel.h"

// Takes the arguments of a system call in their order: number, a, b, c, d, e, f.
asm(".text\n"
    ".globl powercut_reads_call\n"
    ".hidden powercut_reads_call\n"
    ".type powercut_reads_call, @function\n"
    "powercut_reads_call:\n\t"
    "mov %rdi, %rax\n\t"
    "mov %rsi, %rdi\n\t"
    "mov %rdx, %rsi\n\t"
    "mov %rcx, %rdx\n\t"
    "mov %r8, %r10\n\t"
    "mov %r9, %r8\n\t"
    "mov 8(%rsp), %r9\n\t"
    "syscall\n"
    ".globl powercut_reads_called\n"
    ".hidden powercut_reads_called\n"
    "powercut_reads_called:\n\t"
    "ret\n"
    ".size powercut_reads_call, . - powercut_reads_call\n");

namespace powercut::runtime {
namespace {

constexpr uint32_t kArguments = 6;

class FilterProgram {
 public:
  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset); }
  // Each skips the next `skip` instructions if the loaded word compares with `value` as the name says.
  void skip_if(uint32_t value, uint8_t skip) { add(BPF_JMP | BPF_JEQ | BPF_K, skip, 0, value); }
  void skip_unless(uint32_t value, uint8_t skip) { add(BPF_JMP | BPF_JEQ | BPF_K, 0, skip, value); }
  void skip_if_less(uint32_t value, uint8_t skip) { add(BPF_JMP | BPF_JGE | BPF_K, 0, skip, value); }
  void skip_if_at_least(uint32_t value, uint8_t skip) { add(BPF_JMP | BPF_JGE | BPF_K, skip, 0, value); }
  void pass() { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW); }
  void tell() { add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP); }
  // Returns false if this kernel has no filters.
  bool install() const {
    if (full_) return false;
    const sock_fprog program = {static_cast<unsigned short>(size_), const_cast<sock_filter*>(code_)};
    // The filter goes without the mitigations that slow the process down: the process keeps no secrets from itself.
    return kernel(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                  reinterpret_cast<long>(&program)) == 0;
  }

 private:
  void add(uint16_t code, uint8_t when_true, uint8_t when_false, uint32_t value) {
    full_ = full_ || size_ == kMost;
    if (!full_) code_[size_++] = {code, when_true, when_false, value};
  }
  static constexpr uint32_t kMost = 512;
  sock_filter code_[kMost] = {};
  uint32_t size_ = 0;
  bool full_ = false;
};

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

constexpr uint32_t argument(uint32_t number) {
  return offsetof(seccomp_data, args) + number * static_cast<uint32_t>(sizeof(uint64_t));
}
constexpr uint32_t kUpper = sizeof(uint32_t);

constinit FilterProgram filter{};

// Lets the calls pass whose `syscall` instruction lies right in front of `place`.
void pass_ours(FilterProgram& program, const char* place) {
  const auto ours = reinterpret_cast<uint64_t>(place);
  program.load(offsetof(seccomp_data, instruction_pointer));
  program.skip_unless(low(ours), 3);
  program.load(offsetof(seccomp_data, instruction_pointer) + kUpper);
  program.skip_unless(high(ours), 1);
  program.pass();
}

}  // namespace

void write_filter(const HarmlessCall* calls, uint32_t count) {
  filter = {};
  filter.load(offsetof(seccomp_data, arch));
  filter.skip_if(AUDIT_ARCH_X86_64, 1);
  filter.tell();
  pass_ours(filter, powercut_reads_called);
  pass_ours(filter, powercut_reads_cloned);
  // These two calls pass whatever their registers hold: they go on with the code that they interrupted.
  filter.load(offsetof(seccomp_data, nr));
  filter.skip_unless(SYS_rt_sigreturn, 1);
  filter.pass();
  filter.skip_unless(SYS_restart_syscall, 1);
  filter.pass();
  // A register that is no argument may hold any value, so the handler decides.
  const ClosedArea& closed = closed_area();
  for (uint32_t i = 0; i < kArguments; ++i) {
    filter.load(argument(i) + kUpper);
    filter.skip_if_less(high(closed.begin), 2);
    filter.skip_if_at_least(high(closed.end), 1);
    filter.tell();
  }
  filter.load(offsetof(seccomp_data, nr));
  for (uint32_t i = 0; i < count; ++i) {
    filter.skip_unless(calls[i].number, 1);
    filter.pass();
  }
  // Calls that are harmless by their arguments.
  filter.skip_unless(SYS_lseek, 3);
  filter.load(argument(2));
  filter.skip_if_at_least(3, 1);
  filter.pass();
  filter.load(offsetof(seccomp_data, nr));
  filter.skip_unless(SYS_mmap, 3);
  filter.load(argument(4));
  filter.skip_unless(~uint32_t{0}, 1);
  filter.pass();
  filter.tell();
  // Without this setting only the privileged may install a filter. Runs inherit the filter.
  kernel(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
}

bool install_filter() { return filter.install(); }

bool install_wait_filter(const uint16_t* calls, uint32_t count) {
  FilterProgram waits;
  pass_ours(waits, powercut_reads_called);
  waits.load(offsetof(seccomp_data, nr));
  for (uint32_t i = 0; i < count; ++i) {
    waits.skip_unless(calls[i], 1);
    waits.tell();
  }
  waits.pass();
  return waits.install();
}

}  // namespace powercut::runtime
