// The registers that a call keeps, in the order in which they lie below the return address (powercut_sink.out_of_steps
// and .branch): whoever puts them on a stack, and whoever takes them from there.
#ifndef POWERCUT_TRACER_RUNTIME_LIVE_REGISTERS_H_
#define POWERCUT_TRACER_RUNTIME_LIVE_REGISTERS_H_

// Text of assembly.
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
