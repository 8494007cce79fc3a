// Tells a loop that never ends from a long loop.
//
// Every loop turn and every call of target code is a step. After 4096 steps, 8192, 16384 and so on, and once more when
// the budget is spent, a *look* begins. At its first step the machine's state is kept. The kept state is compared with
// the state at each of the next steps; the look takes a 64th of the steps taken so far. The state is kept anew after 1,
// 2, 4, 8 and so on of these steps (Brent's algorithm). The reason: before the look, the hooks have left words below
// the stack. Later frames find these words in uninitialised memory, and they do not come back. The state is all that
// the code's next instructions depend on: the program counter, the registers that a call keeps, the stack from there
// up, and memory. Memory is compared through the journal of old words, which holds each word that was stored to since.
// If the state comes back, the same instructions follow for ever: target code is deterministic, and all input from
// outside (clock, randomness) is in the state, too. If the state does not come back within the budget, the loop is not
// known to end, nor to go on.
//
// Not seen: changes by uninstrumented code outside its stack (a position in a file).
#ifndef POWERCUT_REPLAYER_EXECUTOR_LOOP_WATCH_H_
#define POWERCUT_REPLAYER_EXECUTOR_LOOP_WATCH_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace powercut {

// The state that __powercut_out_of_steps hands over (tracer/runtime/hooks.h): six registers, the return address, then
// the caller's stack.
struct LiveState {
  const uint64_t* words = nullptr;
  const void* pc() const { return reinterpret_cast<const void*>(words[6]); }
  const void* frame() const { return reinterpret_cast<const void*>(words[5]); }
};

class LoopWatch {
 public:
  static constexpr int64_t kFirstLook = 4096;
  enum class Found : uint8_t { kNothing, kRepeats, kSpent };

  // Begins an execution. Returns the number of steps after which step() is to be called.
  int64_t begin(int64_t budget);
  // Call it when the granted steps are taken. `stack_end`: the end of target code's stack; words above are the
  // engine's. `mark()` names the present memory; `same_memory(mark)` returns whether memory is as it was then.
  // `granted` gets the steps until the next call.
  Found step(LiveState live, const uint64_t* stack_end, const std::function<uint64_t()>& mark,
             const std::function<bool(uint64_t)>& same_memory, int64_t* granted);
  // Restarts the watch after the state has come back, since other threads will change the state. The count of steps
  // goes on. Returns the steps until step() is to be called.
  int64_t go_on();
  // Returns whether a look is going on: every store must be in the journal then.
  bool looking() const { return looking_; }
  int64_t steps() const { return steps_; }

 private:
  bool same_stack(LiveState live, const uint64_t* stack_end) const;
  void keep(LiveState live, const uint64_t* stack_end, const std::function<uint64_t()>& mark);

  int64_t budget_ = 0, steps_ = 0, granted_ = 0;
  int64_t next_look_ = 0, look_began_ = 0, look_ends_ = 0;
  bool looking_ = false;
  const uint64_t* at_ = nullptr;  // where the kept state begins
  std::vector<uint64_t> stack_;
  uint64_t mark_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_LOOP_WATCH_H_
