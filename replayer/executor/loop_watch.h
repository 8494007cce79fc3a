// Tells a loop that never ends from one that is long.
//
// Every loop turn and every call of target code is a step. After 4096 steps, 8192, 16384 and so on, and once more when
// the budget is spent, the machine's state is kept at one step and compared with that at each of the next ones, for a
// 64th of the steps taken. It is kept anew after 1, 2, 4, 8 and so on of them (Brent's algorithm): what the hooks have
// left below the stack before they began to watch is found in uninitialised words of later frames, and is not there
// again. The state is all that the code's next instructions depend on: where it is, the registers
// that a call keeps, its stack from there up, and memory. Memory is compared through the journal of old words, which
// holds each word that was stored to since. Where the state comes back, the same instructions follow for ever: target
// code is deterministic, and whatever it is given from outside (clock, randomness) is in the state, too. A loop that
// does not come back within its budget is not known to end, nor to go on.
//
// Not seen: what code without instrumentation changes besides its stack (a position in a file).
#ifndef POWERCUT_REPLAYER_EXECUTOR_LOOP_WATCH_H_
#define POWERCUT_REPLAYER_EXECUTOR_LOOP_WATCH_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace powercut {

// What __powercut_out_of_steps hands over (tracer/runtime/hooks.h): six registers, the return address, then the
// caller's stack.
struct LiveState {
  const uint64_t* words = nullptr;
  const void* pc() const { return reinterpret_cast<const void*>(words[6]); }
  const void* frame() const { return reinterpret_cast<const void*>(words[5]); }
};

class LoopWatch {
 public:
  static constexpr int64_t kFirstLook = 4096;
  enum class Found : uint8_t { kNothing, kRepeats, kSpent };

  // An execution begins. Returns the steps until step() is to be called.
  int64_t begin(int64_t budget);
  // Those steps are taken. `stack_end`: what lies above is the engine's. `same_memory(mark)`: whether memory is as it
  // was when `mark()` was asked. `granted`: steps until the next call.
  Found step(LiveState live, const uint64_t* stack_end, const std::function<uint64_t()>& mark,
             const std::function<bool(uint64_t)>& same_memory, int64_t* granted);
  // The state has come back, and what others have done since will change it: the watch begins again, and the steps of
  // the execution go on. Returns as begin().
  int64_t go_on();
  // While it looks, every store must be in the journal.
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
