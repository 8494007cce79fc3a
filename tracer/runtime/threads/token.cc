#include "tracer/runtime/threads/token.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/system_call.h"

namespace powercut::runtime {
namespace {

// Turns of loops that come to nothing, and seconds of such turns, after which the loops count as waiting for ever.
constexpr uint64_t kIdleTurns = 1000;
constexpr double kIdleSeconds = 0.5;
// Turns in which only one thread could go on, and counted or looked at a clock, before the thread's loop is given up.
constexpr uint64_t kMostAlone = 20'000;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

constinit thread_local uint32_t mine = 0;
constinit thread_local bool busy = false;

uint16_t Token::ready() const {
  uint16_t out = 0;
  for (uint32_t number = 1; number <= count_; ++number) {
    const Thread& thread = threads_[number];
    const bool is = thread.state == State::kReady ||
                    (thread.state == State::kLoops && thread.seen != memory_.value()) ||
                    (thread.state == State::kTurn && has_turn(number));
    if (is) out |= static_cast<uint16_t>(1u << number);
  }
  return out;
}

uint32_t Token::behind(uint32_t number, uint16_t of) const {
  for (uint32_t i = 1; i <= kMostThreads + 1; ++i) {
    const uint32_t next = (number + i) % (kMostThreads + 1);
    if ((of >> next & 1) != 0) return next;
  }
  return 0;
}

uint32_t Token::turn() const {
  return operates_ != 0 || order_ >= file_->order_length ? operates_ : file_->order[order_];
}

bool Token::has_turn(uint32_t number) const { return operates_ == 0 && (turn() == 0 || turn() == number); }

uint32_t Token::decide(uint16_t may, uint16_t costly, uint32_t usual) {
  if ((may & (may - 1)) == 0) return behind(0, may);
  if (file_->tail == Tail::kOrder) {
    // The thread that has the turn goes first, unless it waits for others. Nobody goes back to such a schedule.
    const uint32_t first = turn();
    const bool can = first != 0 && first <= kMostThreads && (may >> first & 1) != 0;
    return can && (first != mine || usual == mine) ? first : usual;
  }
  const uint32_t at = file_->decisions;
  if (at == kMostDecisions) stop(ScheduleEnd::kTooLong);
  uint32_t to = usual;
  if (at < file_->choices) {
    to = file_->choice[at];
    if ((may >> to & 1) == 0) {
      doubt("its decisions were others in another run: it depends on more than its schedule");
      to = usual;
    }
  } else if (file_->tail == Tail::kRandom) {
    to = 0;
    for (uint64_t left = mixed(file_->seed, at) % static_cast<uint64_t>(__builtin_popcount(may)) + 1; left > 0;
         --left) {
      to = behind(to, static_cast<uint16_t>(may & ~((2u << to) - 1)));
    }
  } else if (file_->tail == Tail::kPct) {
    to = by_priority(may, at);
  }
  file_->log[at] = {may, costly, static_cast<uint16_t>(mine), static_cast<uint16_t>(to), so_far_};
  ++file_->decisions;
  return to;
}

uint32_t Token::by_priority(uint16_t may, uint32_t at) {
  for (uint32_t change = 0; change < file_->changes; ++change) {
    if (mixed(file_->seed + 1, change) % std::max(1u, file_->length) == at) lowered_[mine] = change + 1;
  }
  uint32_t best = 0;
  for (uint32_t number = 1; number <= count_; ++number) {
    if ((may >> number & 1) == 0) continue;
    if (best == 0 || priority(number) > priority(best)) best = number;
  }
  return best;
}

uint64_t Token::priority(uint32_t number) const {
  return lowered_[number] != 0 ? file_->changes - lowered_[number] : mixed(file_->seed, number) | uint64_t{1} << 32;
}

void Token::pass(uint32_t to) {
  running_ = to;
  Thread& next = threads_[to];
  if (next.state == State::kLoops || next.state == State::kTurn) next.state = State::kReady;
  next.go.store(1, std::memory_order_release);
  system_call(SYS_futex, &next.go, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void Token::await(Thread* thread) {
  while (thread->go.load(std::memory_order_acquire) == 0) {
    system_call(SYS_futex, &thread->go, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
  }
  thread->go.store(0, std::memory_order_relaxed);
  // A thread that has ended gives its memory back on its way out, which must not happen beside this thread's
  // allocations. The first thread of the process stays in the kernel's list.
  for (const long gone = leaving_; gone != 0 && gone != getpid() && system_call(SYS_tgkill, getpid(), gone, 0) == 0;)
    sched_yield();
  leaving_ = 0;
}

void Token::go_to(uint32_t to) {
  if (to == mine) return;
  pass(to);
  await(&me());
}

void Token::step(const CallSite& site) {
  if (alone()) return;
  const auto self = static_cast<uint16_t>(1u << mine);
  const uint16_t may = ready() | self;
  if (may == self) return;
  const uint32_t to = decide(may, static_cast<uint16_t>(may & ~self), mine);
  if (to == mine) return;
  recorder_.left("left", site);
  go_to(to);
}

void Token::yield() {
  const auto self = static_cast<uint16_t>(1u << mine);
  const uint16_t others = ready() & static_cast<uint16_t>(~self);
  if (others == 0) return go_on_alone();
  go_to(decide(others | self, self, behind(mine, others)));
}

void Token::go_on_alone() {
  pass_time(alone_);
  if (++alone_ > kMostAlone) stop(ScheduleEnd::kTooLong);
}

void Token::pass_time(uint64_t turns) { time_ += kTick << std::min<uint64_t>(turns, 32); }

void Token::wait(State state) {
  me().state = state;
  me().seen = memory_.value();
  while (me().state != State::kReady) {
    const uint16_t may = ready();
    const uint32_t to = may != 0 ? decide(may, 0, behind(mine, may)) : idle();
    if (to != mine) {
      go_to(to);
    } else {
      me().state = State::kReady;
    }
  }
}

uint32_t Token::idle() {
  uint16_t loop = 0;
  for (uint32_t number = 1; number <= count_; ++number) {
    if (threads_[number].state == State::kLoops) loop |= static_cast<uint16_t>(1u << number);
    if (threads_[number].state == State::kTurn) stop(ScheduleEnd::kNoOrder);
  }
  if (idle_ == 0) idle_since_ = now();
  // Turns that change nothing end in the deadlock below; turns that only count end in go_on_alone().
  if (loop != 0 && idle_ <= kIdleTurns) go_on_alone();
  if (loop == 0 || (++idle_ > kIdleTurns && now() - idle_since_ > kIdleSeconds)) deadlocked();
  return behind(mine, loop);
}

void Token::deadlocked() {
  size_t at = 0;
  const auto add = [&](const char* form, uint32_t number, const char* what) {
    const int size = std::snprintf(file_->text + at, sizeof file_->text - at, form, number, what);
    if (size > 0) at = std::min(at + static_cast<size_t>(size), sizeof file_->text - 1);
  };
  for (uint32_t number = 1; number <= count_; ++number) {
    const Thread& thread = threads_[number];
    if (thread.state == State::kEnded) continue;
    if (at > 0) add("%.0u%s", 0, "; ");
    add("thread %u %s", number,
        thread.state == State::kLoops   ? "waits in a loop"
        : thread.state == State::kJoins ? "waits for the end of thread "
                                        : "waits for a lock or a condition");
    if (thread.state == State::kJoins) add("%u%s", thread.joins, "");
  }
  add("%.0u%s", 0, ", and nobody is left to go on.");
  stop(ScheduleEnd::kDeadlock);
}

void Token::stop(ScheduleEnd how) {
  file_->end = how;
  recorder_.finish(0);
  system_call(SYS_exit_group, 0);
  __builtin_unreachable();
}

void Token::doubt(const char* what) {
  if (file_->doubt[0] == '\0') std::snprintf(file_->doubt, sizeof file_->doubt, "%s", what);
}

}  // namespace powercut::runtime
