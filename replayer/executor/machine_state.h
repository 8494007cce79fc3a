// What a processor holds while target code runs, so that the code can be let go on there once more: besides memory, all
// that its next instructions depend on. It is taken in a hook, so that registers which a call may change are dead.
#ifndef POWERCUT_REPLAYER_EXECUTOR_MACHINE_STATE_H_
#define POWERCUT_REPLAYER_EXECUTOR_MACHINE_STATE_H_

#include <cstdint>
#include <vector>

namespace powercut {

// What the C++ runtime keeps of a thread's exceptions (Itanium C++ ABI, 2.2.2): those caught, and how many are not yet.
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

// Calls function(argument) on a stack that ends at `stack_end`, of the same thread. No exception may leave it.
extern "C" void powercut_enter(const uint64_t* stack_end, void (*function)(void*), void* argument);
// Puts `words` to `at`, which lies below `stack_end`, and goes on in that state. It returns when the function that
// powercut_enter() was given at the same stack returns.
extern "C" void powercut_go_on(const uint64_t* stack_end, const uint64_t* at, const uint64_t* words, uint64_t count,
                               uint64_t result);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_MACHINE_STATE_H_
