// Stand-ins for the other waits of threads: semaphores, barriers, functions that are called once, static variables that
// are initialised once, and futex(2), which std::atomic::wait is made of. Under a scheduler (thread_hooks.h) the
// stand-ins work on the object's own bytes, which have the meaning that glibc and libstdc++ give them.
//
// Known inaccuracies: a semaphore that is waited for with a time limit is waited for without one. Two operations of
// futex(2) are followed, waiting and waking, and their bits are not looked at. Requeueing and locks that lend priority
// are not followed.
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/threads/futex_step.h"
#include "tracer/runtime/threads/lock_step.h"
#include "tracer/runtime/watch_hooks.h"

using powercut::runtime::Attempt;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::LockStep;
using powercut::runtime::place_of;
using powercut::runtime::scheduled_thread;
using powercut::runtime::store_object;

namespace {

// ---- semaphores --------------------------------------------------------------------------------------

unsigned* count_of(sem_t* semaphore) { return reinterpret_cast<unsigned*>(semaphore); }

int fail(int error) {
  errno = error;
  return -1;
}

int take_semaphore(sem_t* semaphore, Attempt attempt, const CallSite& site) {
  unsigned* const count = count_of(semaphore);
  const LockStep step(count, sizeof *count, site);
  while (LockStep::read(count) == 0) {
    if (attempt == Attempt::kOnce) return fail(EAGAIN);
    step.wait();
  }
  step.store(count, LockStep::read(count) - 1);
  return 0;
}

// ---- barriers ----------------------------------------------------------------------------------------

// glibc's struct pthread_barrier. Threads that came are counted from 1 on; the threads numbered up to `round` may go.
struct BarrierWords {
  unsigned in, round, count;
  int shared;
  unsigned out;
};
static_assert(sizeof(BarrierWords) <= sizeof(pthread_barrier_t));

int wait_at_barrier(BarrierWords* words, const CallSite& site) {
  const LockStep step(words, sizeof *words, site);
  BarrierWords now = LockStep::read(words);
  const unsigned number = ++now.in;
  const bool last = number - now.round == now.count;
  if (last) now.round = number;
  step.store(words, now);
  if (!last) {
    do {
      step.wait();
      now = LockStep::read(words);
    } while (static_cast<int>(now.round - number) < 0);
  }
  // The last thread to leave makes the barrier new.
  if (++now.out == now.in) now.in = now.round = now.out = 0;
  step.store(words, now);
  return last ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

// ---- once --------------------------------------------------------------------------------------------

constexpr int kOnceNew = 0, kOnceRuns = 1, kOnceDone = 2;

void run_once(int* word, void (*function)(), const CallSite& site) {
  {
    const LockStep step(word, sizeof *word, site);
    for (;; step.wait()) {
      const int now = LockStep::read(word);
      if ((now & kOnceDone) != 0) return;
      if ((now & kOnceRuns) == 0) break;
    }
    step.store(word, kOnceRuns);
  }
  try {
    function();
  } catch (...) {
    LockStep(word, sizeof *word, site).store(word, kOnceNew);
    throw;
  }
  LockStep(word, sizeof *word, site).store(word, kOnceDone);
}

// The values of a static variable's guard, as the C++ ABI and libstdc++ have them.
constexpr int kGuardNew = 0, kGuardDone = 1, kGuardRuns = 0x100;

// ---- futex -------------------------------------------------------------------------------------------

struct Sleeper {
  uint64_t word, thread;
};
// The sleepers in the order in which they came, which is the kernel's order; zeroes behind them.
constinit std::array<Sleeper, POWERCUT_MOST_THREADS> queue{};

bool sleeps(uint64_t thread) {
  return std::ranges::any_of(queue, [thread](const Sleeper& one) { return one.thread == thread; });
}

void store_queue(const LockStep& step, const std::array<Sleeper, POWERCUT_MOST_THREADS>& next) {
  for (size_t i = 0; i < queue.size(); ++i) {
    if (queue[i].word != next[i].word || queue[i].thread != next[i].thread) step.store(&queue[i], next[i]);
  }
}

void leave_queue(const LockStep& step, uint64_t thread) {
  auto next = queue;
  const auto end = std::ranges::remove(next, thread, &Sleeper::thread).begin();
  std::fill(end, next.end(), Sleeper{});
  store_queue(step, next);
}

long sleep_on(const int* word, int expected, bool limited, const CallSite& site) {
  const uint64_t me = scheduled_thread();
  LockStep step(word, sizeof *word, site);
  step.also(queue.data(), sizeof queue);
  if (LockStep::read(word) != expected) return fail(EAGAIN);
  const auto end = std::ranges::find(queue, uint64_t{0}, &Sleeper::thread);
  if (end == queue.end()) return fail(EAGAIN);
  step.store(&*end, {reinterpret_cast<uint64_t>(word), me});
  if (limited) {
    __powercut_pause();
    const LockStep awake(queue.data(), sizeof queue, site);
    if (!sleeps(me)) return 0;
    leave_queue(awake, me);
    return fail(ETIMEDOUT);
  }
  while (sleeps(me)) step.wait();
  return 0;
}

long wake(const int* word, int most, const CallSite& site) {
  const LockStep step(queue.data(), sizeof queue, site);
  auto next = queue;
  int woken = 0;
  const auto end = std::remove_if(next.begin(), next.end(), [&](const Sleeper& one) {
    if (one.thread == 0 || one.word != reinterpret_cast<uint64_t>(word) || woken >= most) return false;
    ++woken;
    return true;
  });
  std::fill(end, next.end(), Sleeper{});
  store_queue(step, next);
  return woken;
}

}  // namespace

namespace powercut::runtime {

long futex_step(const std::array<long, 6>& arguments, const CallSite& site) {
  const auto* word = reinterpret_cast<const int*>(arguments[0]);
  const auto value = static_cast<int>(arguments[2]);
  switch (arguments[1] & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
      return sleep_on(word, value, /*limited=*/arguments[3] != 0, site);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
      return wake(word, value, site);
    default:
      cannot_schedule("target code uses futex(2) for more than waiting and waking", site);
      return fail(ENOSYS);
  }
}

}  // namespace powercut::runtime

extern "C" {

void powercut_futex_queue(uint64_t* begin, uint64_t* end) {
  *begin = reinterpret_cast<uint64_t>(queue.data());
  *end = *begin + sizeof queue;
}

int __powercut_sem_wait(sem_t* semaphore) {
  const CallSite site = call_site();
  if (scheduled_thread() != 0) return take_semaphore(semaphore, Attempt::kUntilTaken, site);
  if (place_of(semaphore) == semaphore || __powercut_watch.blocked == nullptr) return sem_wait(semaphore);
  const int result = sem_trywait(semaphore);
  if (result != 0 && errno == EAGAIN) __powercut_watch.blocked(site.pc, site.frame);
  return result;
}

int __powercut_sem_trywait(sem_t* semaphore) {
  POWERCUT_UNLESS_SCHEDULED(sem_trywait(semaphore));
  return take_semaphore(semaphore, Attempt::kOnce, call_site());
}

int __powercut_sem_timedwait(sem_t* semaphore, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(sem_timedwait(semaphore, until));
  return take_semaphore(semaphore, Attempt::kUntilTaken, call_site());
}

int __powercut_sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(sem_clockwait(semaphore, clock, until));
  return take_semaphore(semaphore, Attempt::kUntilTaken, call_site());
}

int __powercut_sem_post(sem_t* semaphore) {
  POWERCUT_UNLESS_SCHEDULED(sem_post(semaphore));
  unsigned* const count = count_of(semaphore);
  const LockStep step(count, sizeof *count, call_site());
  const unsigned now = LockStep::read(count);
  if (now == SEM_VALUE_MAX) return fail(EOVERFLOW);
  step.store(count, now + 1);
  return 0;
}

int __powercut_sem_getvalue(sem_t* semaphore, int* out) {
  POWERCUT_UNLESS_SCHEDULED(sem_getvalue(semaphore, out));
  const CallSite site = call_site();
  const LockStep step(semaphore, sizeof(unsigned), site);
  store_object(out, static_cast<int>(LockStep::read(count_of(semaphore))), site);
  return 0;
}

int __powercut_sem_init(sem_t* semaphore, int shared, unsigned value) {
  POWERCUT_UNLESS_SCHEDULED(sem_init(semaphore, shared, value));
  sem_t made{};
  const int result = sem_init(&made, shared, value);
  if (result == 0) store_object(semaphore, made, call_site());
  return result;
}

int __powercut_pthread_barrier_wait(pthread_barrier_t* barrier) {
  POWERCUT_UNLESS_SCHEDULED(pthread_barrier_wait(barrier));
  return wait_at_barrier(reinterpret_cast<BarrierWords*>(barrier), call_site());
}

int __powercut_pthread_barrier_init(pthread_barrier_t* barrier, const pthread_barrierattr_t* attributes,
                                    unsigned count) {
  POWERCUT_UNLESS_SCHEDULED(pthread_barrier_init(barrier, attributes, count));
  pthread_barrier_t made{};
  const int result = pthread_barrier_init(&made, attributes, count);
  if (result == 0) store_object(barrier, made, call_site());
  return result;
}

int __powercut_pthread_barrier_destroy(pthread_barrier_t* barrier) {
  POWERCUT_UNLESS_SCHEDULED(pthread_barrier_destroy(barrier));
  return 0;
}

// An exception may leave these two functions.
int __powercut_pthread_once(pthread_once_t* once, void (*function)()) {
  POWERCUT_UNLESS_SCHEDULED(pthread_once(once, function));
  run_once(once, function, call_site());
  return 0;
}

void __powercut_call_once(once_flag* once, void (*function)()) {
  POWERCUT_UNLESS_SCHEDULED(call_once(once, function));
  run_once(reinterpret_cast<int*>(once), function, call_site());
}

int __cxa_guard_acquire(int64_t* guard);
void __cxa_guard_release(int64_t* guard);
void __cxa_guard_abort(int64_t* guard);

int __powercut___cxa_guard_acquire(int64_t* guard) {
  POWERCUT_UNLESS_SCHEDULED(__cxa_guard_acquire(guard));
  int* const word = reinterpret_cast<int*>(guard);
  const LockStep step(word, sizeof *word, call_site());
  for (;; step.wait()) {
    const int now = LockStep::read(word);
    if ((now & kGuardDone) != 0) return 0;
    if ((now & kGuardRuns) == 0) break;
  }
  step.store(word, kGuardRuns);
  return 1;
}

void __powercut___cxa_guard_release(int64_t* guard) {
  POWERCUT_UNLESS_SCHEDULED(__cxa_guard_release(guard));
  int* const word = reinterpret_cast<int*>(guard);
  LockStep(word, sizeof *word, call_site()).store(word, kGuardDone);
}

void __powercut___cxa_guard_abort(int64_t* guard) {
  POWERCUT_UNLESS_SCHEDULED(__cxa_guard_abort(guard));
  int* const word = reinterpret_cast<int*>(guard);
  LockStep(word, sizeof *word, call_site()).store(word, kGuardNew);
}

}  // extern "C"
