// Clears the stack below a call of the engine's from target code's stack. Such a call leaves bytes there, addresses
// among them, and target code may have them in frames that it has not initialised. A digest or a comparison of stacks
// would then tell apart two states that are the same.
#ifndef POWERCUT_TRACER_WORLD_STACK_BELOW_H_
#define POWERCUT_TRACER_WORLD_STACK_BELOW_H_

#include <cstddef>
#include <cstring>

namespace powercut {

inline constexpr size_t kHookStack = 2 << 10;  // bytes of the engine's frames in a hook

template <size_t kBytes>
[[gnu::noinline]] void clear_stack_below() {
  char bytes[kBytes];
  std::memset(bytes, 0, sizeof bytes);
  asm volatile("" : : "r"(bytes) : "memory");
}

// Clears the stack below the hook at its end, if anybody compares the stack.
class ClearsHookStack {
 public:
  explicit ClearsHookStack(bool compared = true) : compared_(compared) {}
  ClearsHookStack(const ClearsHookStack&) = delete;
  ClearsHookStack& operator=(const ClearsHookStack&) = delete;
  ~ClearsHookStack() {
    if (compared_) clear_stack_below<kHookStack>();
  }

 private:
  const bool compared_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_WORLD_STACK_BELOW_H_
