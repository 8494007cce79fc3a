// The registers that a call keeps, in the order in which they lie below the return address (powercut_sink.out_of_steps
// and .branch). The macros are for code that puts the registers on a stack, and for code that takes them from a stack.
#ifndef POWERCUT_TRACER_RUNTIME_LIVE_REGISTERS_H_
#define POWERCUT_TRACER_RUNTIME_LIVE_REGISTERS_H_

// Assembly text: pushes the registers; the second macro pops them.
#define POWERCUT_PUSH_LIVE_REGISTERS \
  "push %rbp\n\t"                    \
  "push %rbx\n\t"                    \
  "push %r12\n\t"                    \
  "push %r13\n\t"                    \
  "push %r14\n\t"                    \
  "push %r15\n\t"
#define POWERCUT_POP_LIVE_REGISTERS \
  "pop %r15\n\t"                    \
  "pop %r14\n\t"                    \
  "pop %r13\n\t"                    \
  "pop %r12\n\t"                    \
  "pop %rbx\n\t"                    \
  "pop %rbp\n\t"

#endif  // POWERCUT_TRACER_RUNTIME_LIVE_REGISTERS_H_
