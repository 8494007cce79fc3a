#include "replayer/executor/loop_watch.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace powercut {
namespace {

// A cycle of up to half as many steps is found at the first look; later looks are a 64th of the steps before them.
constexpr int64_t kShortestLook = 64;

}  // namespace

int64_t LoopWatch::begin(int64_t budget) {
  budget_ = budget;
  steps_ = 0;
  looking_ = false;
  next_look_ = std::min(kFirstLook, budget);
  granted_ = next_look_;
  return granted_;
}

int64_t LoopWatch::go_on() {
  looking_ = false;
  next_look_ = std::min(steps_ + kFirstLook, budget_);
  granted_ = std::max<int64_t>(1, next_look_ - steps_);
  return granted_;
}

bool LoopWatch::same_stack(LiveState live, const uint64_t* stack_end) const {
  return live.words == at_ && static_cast<size_t>(stack_end - live.words) == stack_.size() &&
         std::memcmp(live.words, stack_.data(), stack_.size() * sizeof(uint64_t)) == 0;
}

void LoopWatch::keep(LiveState live, const uint64_t* stack_end, const std::function<uint64_t()>& mark) {
  at_ = live.words;
  stack_.assign(live.words, stack_end);
  mark_ = mark();
}

LoopWatch::Found LoopWatch::step(LiveState live, const uint64_t* stack_end, const std::function<uint64_t()>& mark,
                                 const std::function<bool(uint64_t)>& same_memory, int64_t* granted) {
  steps_ += granted_;
  if (!looking_) {
    looking_ = true;
    look_began_ = steps_;
    look_ends_ = steps_ + std::max(kShortestLook, steps_ / 64);
    keep(live, stack_end, mark);
    granted_ = 1;
  } else if (same_stack(live, stack_end) && same_memory(mark_)) {
    return Found::kRepeats;
  } else if (steps_ >= look_ends_) {
    looking_ = false;
    if (steps_ >= budget_) return Found::kSpent;
    next_look_ = std::min(std::max(2 * next_look_, steps_ + 1), budget_);
    granted_ = std::max<int64_t>(1, next_look_ - steps_);
  } else if (std::has_single_bit(static_cast<uint64_t>(steps_ - look_began_))) {
    keep(live, stack_end, mark);
  }
  *granted = granted_;
  return Found::kNothing;
}

}  // namespace powercut
