// Room threads: stand-ins for the functions in which threads begin, end and wait, and the scheduler of programs.
//
// This file: a step of a stand-in of a lock (thread_hooks.h): what it looks at and changes before anybody else runs.
// Private to the runtime.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_LOCK_STEP_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_LOCK_STEP_H_

#include <pthread.h>

#include <cstdint>
#include <cstring>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/runtime/watch_hooks.h"

namespace powercut::runtime {

// The number of the running thread of the target; 0: none is scheduled, and the C library is asked.
inline uint64_t scheduled_thread() {
  const powercut_scheduler& scheduler = __powercut_scheduler;
  return scheduler.current == nullptr ? 0 : scheduler.current(scheduler.self);
}

// `begin` is in the program's addresses, and so is what store() and wait() are given. Reads need no hook: the scheduler
// was told of them.
class LockStep {
 public:
  LockStep(const void* begin, uint64_t size, const CallSite& site) : site_(site) { also(begin, size); }
  // The step looks at this as well. Before it looks at anything.
  void also(const void* begin, uint64_t size) {
    __powercut_scheduler.access(__powercut_scheduler.self, begin, size, site_.pc, site_.frame);
    begin_ = begin;
    size_ = size;
  }
  // The step is over without a change; another one begins when what it looked at last has changed.
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

// A new object, which nobody else knows yet: a plain store.
template <typename T>
void store_object(T* at, const T& value, const CallSite& site) {
  std::memcpy(announce_store(at, sizeof value, POWERCUT_STORE_MEMCALL, &value, site), &value, sizeof value);
}

// What nobody stands in for. Under an engine this does not return.
inline void cannot_schedule(const char* what, const CallSite& site) {
  if (__powercut_watch.cannot_follow != nullptr) __powercut_watch.cannot_follow(what, site.pc, site.frame);
}

// lock_calls.cc, for what gives a mutex back while it waits: the functions of pthread under a scheduler.
int lock_mutex(pthread_mutex_t* mutex, const CallSite& site);
int unlock_mutex(pthread_mutex_t* mutex, const CallSite& site);

}  // namespace powercut::runtime

// At the beginning of a stand-in: without a scheduler the C library's function is called, as if nobody stood in
// between.
#define POWERCUT_UNLESS_SCHEDULED(...)                                \
  if (powercut::runtime::scheduled_thread() == 0) [[clang::musttail]] \
  return __VA_ARGS__

// The same where the thread is one of the system's though it is scheduled.
#define POWERCUT_UNLESS_FIBER(...)                                                                           \
  if (powercut::runtime::scheduled_thread() == 0 || __powercut_scheduler.of_system != 0) [[clang::musttail]] \
  return __VA_ARGS__

#endif  // POWERCUT_TRACER_RUNTIME_THREADS_LOCK_STEP_H_
