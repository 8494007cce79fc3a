#include "replayer/executor/machine_state.h"

#include "tracer/runtime/live_registers.h"

namespace powercut {

// Both functions keep the caller's registers on the caller's stack, and the caller's stack pointer in the word at
// `stack_end`.
#define POWERCUT_LEAVE_STACK POWERCUT_PUSH_LIVE_REGISTERS "mov %rsp, (%rdi)\n\t"

[[gnu::naked]] void powercut_enter(const uint64_t*, void (*)(void*), void*) {
  asm(POWERCUT_LEAVE_STACK
      "mov %rdi, %rsp\n\t"
      "mov %rdx, %rdi\n\t"
      "xor %ebp, %ebp\n\t"
      "call *%rsi\n\t"
      "mov (%rsp), %rsp\n\t" POWERCUT_POP_LIVE_REGISTERS "ret");
}

[[gnu::naked]] void powercut_go_on(const uint64_t*, const uint64_t*, const uint64_t*, uint64_t, uint64_t) {
  asm(POWERCUT_LEAVE_STACK
      "mov %rsi, %rdi\n\t"
      "mov %rsi, %rsp\n\t"
      "mov %rdx, %rsi\n\t"
      "mov %r8, %rax\n\t"
      "rep movsq\n\t" POWERCUT_POP_LIVE_REGISTERS "ret");
}

}  // namespace powercut
