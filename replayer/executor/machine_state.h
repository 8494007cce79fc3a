// The state of a processor while target code runs: besides memory, all that the code's next instructions depend on.
// Code can be let go on in such a state once more. The state is taken in a hook, where registers that a call may change
// are dead.
#ifndef POWERCUT_REPLAYER_EXECUTOR_MACHINE_STATE_H_
#define POWERCUT_REPLAYER_EXECUTOR_MACHINE_STATE_H_

#include <cstdint>
#include <vector>

namespace powercut {

// The C++ runtime's record of a thread's exceptions (Itanium C++ ABI, 2.2.2): the caught exceptions, and the number of
// uncaught ones.
struct ExceptionState {
  void* caught;
  unsigned uncaught;
};

struct MachineState {
  const uint64_t* at = nullptr;  // where `words` were: six registers, the return address, the stack (LiveState)
  std::vector<uint64_t> words;
  uint32_t mxcsr = 0;
  uint16_t x87_control = 0;
  int error = 0;  // errno
  ExceptionState exceptions{};
  bool beside = false;  // the table's own threads work
};

// Calls function(argument) in this thread, on a stack that ends at `stack_end`. No exception may leave the function.
extern "C" void powercut_enter(const uint64_t* stack_end, void (*function)(void*), void* argument);
// Copies `words` to `at`, which lies below `stack_end`, and goes on in that state; the hook returns `result` there.
// powercut_go_on() returns when the function that powercut_enter() called on the same stack returns.
extern "C" void powercut_go_on(const uint64_t* stack_end, const uint64_t* at, const uint64_t* words, uint64_t count,
                               uint64_t result);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_MACHINE_STATE_H_
