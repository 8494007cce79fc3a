// The signals by which target code dies, given to a handler on a stack of its own: the target's may be what is at
// fault.
#ifndef POWERCUT_TRACER_WORLD_FAULT_SIGNALS_H_
#define POWERCUT_TRACER_WORLD_FAULT_SIGNALS_H_

#include <csignal>

namespace powercut {

// Whoever handled them before is replaced. The handler may leave by a jump.
void handle_faults(void (*handler)(int signal, siginfo_t* info, void* context));

// For a handler that finds a fault to be nobody's but ours: the process dies of it.
void die_of(int signal);

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_FAULT_SIGNALS_H_
