// The address range of the calling thread's stack, looked up once a thread. Private to the runtime.
#ifndef POWERCUT_TRACER_RUNTIME_HOOKS_STACK_BOUNDS_H_
#define POWERCUT_TRACER_RUNTIME_HOOKS_STACK_BOUNDS_H_

#include <cstdint>

namespace powercut::runtime {

struct StackBounds {
  uint64_t low = 0, high = 0;  // [low, high); both 0: not looked up yet
};

const StackBounds& stack_bounds();

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_HOOKS_STACK_BOUNDS_H_
