// Room threads: stand-ins for the functions in which threads begin, end and wait, and the scheduler of programs.
//
// This file: a step of a stand-in of a lock's function (thread_hooks.h), which looks at the lock and changes it before
// any other thread runs. Private to the runtime.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_LOCK_STEP_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_LOCK_STEP_H_

#include <pthread.h>

#include <cstdint>
#include <cstring>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/runtime/watch_hooks.h"

namespace powercut::runtime {

// Returns the number of the running thread of the target. Returns 0 if no thread is scheduled, so that the C library is
// to be asked.
inline uint64_t scheduled_thread() {
  const powercut_scheduler& scheduler = __powercut_scheduler;
  return scheduler.current == nullptr ? 0 : scheduler.current(scheduler.self);
}

// Whether a lock's function tries once or waits until the lock is taken.
enum class Attempt { kOnce, kUntilTaken };

// All addresses (`begin`, and those given to store() and wait()) are the program's. Reads need no hook: the scheduler
// was told of the bytes that the step looks at.
class LockStep {
 public:
  LockStep(const void* begin, uint64_t size, const CallSite& site) : site_(site) { also(begin, size); }
  // Adds bytes that the step looks at. Called before the step looks at anything.
  void also(const void* begin, uint64_t size) {
    __powercut_scheduler.access(__powercut_scheduler.self, begin, size, site_.pc, site_.frame);
    begin_ = begin;
    size_ = size;
  }
  // Ends the step without a change; another step begins when the bytes that this step looked at last have changed.
  void wait() const { __powercut_scheduler.wait(__powercut_scheduler.self, begin_, size_, site_.pc, site_.frame); }

  template <typename T>
  static T read(const T* at) {
    T value;
    std::memcpy(&value, place_of(at), sizeof value);
    return value;
  }
  template <typename T>
  void store(T* at, const T& value) const {
    constexpr uint32_t kFlags = POWERCUT_STORE_ATOMIC | POWERCUT_STORE_IN_STEP;
    std::memcpy(announce_store(at, sizeof value, kFlags, &value, site_), &value, sizeof value);
  }

 private:
  CallSite site_;
  const void* begin_ = nullptr;
  uint64_t size_ = 0;
};

// Stores a new object, which no other thread knows yet: a plain store.
template <typename T>
void store_object(T* at, const T& value, const CallSite& site) {
  std::memcpy(announce_store(at, sizeof value, POWERCUT_STORE_MEMCALL, &value, site), &value, sizeof value);
}

// Reports a call that has no stand-in. Under an engine this function does not return.
inline void cannot_schedule(const char* what, const CallSite& site) {
  if (__powercut_watch.cannot_follow != nullptr) __powercut_watch.cannot_follow(what, site.pc, site.frame);
}

// The functions of pthread under a scheduler (lock_calls.cc), for calls that give a mutex back while they wait.
int lock_mutex(pthread_mutex_t* mutex, const CallSite& site);
int unlock_mutex(pthread_mutex_t* mutex, const CallSite& site);

}  // namespace powercut::runtime

// Stands at the beginning of a stand-in: without a scheduler the C library's function is called, as if there were no
// stand-in.
#define POWERCUT_UNLESS_SCHEDULED(...)                                \
  if (powercut::runtime::scheduled_thread() == 0) [[clang::musttail]] \
  return __VA_ARGS__

// As above; the C library's function is also called where the scheduled threads are the system's.
#define POWERCUT_UNLESS_FIBER(...)                                                                           \
  if (powercut::runtime::scheduled_thread() == 0 || __powercut_scheduler.of_system != 0) [[clang::musttail]] \
  return __VA_ARGS__

#endif  // POWERCUT_TRACER_RUNTIME_THREADS_LOCK_STEP_H_
