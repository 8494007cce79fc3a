// The C library's functions for locks and threads, in front of the real ones. They are for code of the target that was
// not compiled through the pass: the C++ library, above all. While a thread of the target is scheduled, they are the
// runtime's stand-ins (tracer/runtime/thread_hooks.h), which instrumented code calls by itself. The engine's own locks
// stay locks.
//
// Not here: functions that make an object, since uninstrumented code makes it like any other store. Also not here:
// pthread_self, whose answer the C library's own functions get.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>

#include <atomic>
#include <string_view>

#include "base/system_call.h"
#include "tracer/runtime/thread_hooks.h"
#include "tracer/world/arena.h"

namespace powercut {
namespace {

bool scheduled() { return arena_active && powercut_scheduled() != 0; }

// The C library has two kinds of conditions; the newer one is meant, which a search without a version may miss. All
// other functions are looked for without a version: a search that fails allocates.
constexpr const char* kConditions = "GLIBC_2.3.2";

template <typename Function>
Function* real_function(std::atomic<Function*>& cache, const char* name) {
  Function* function = cache.load(std::memory_order_relaxed);
  if (function != nullptr) return function;
  // pthread_cond_clockwait is of one kind alone.
  const std::string_view text = name;
  const bool of_condition = text.starts_with("pthread_cond_") && text != "pthread_cond_clockwait";
  void* found = of_condition ? dlvsym(RTLD_NEXT, name, kConditions) : dlsym(RTLD_NEXT, name);
  function = reinterpret_cast<Function*>(found);
  cache.store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace
}  // namespace powercut

// The sanitizer's own stand before the C library's, where the sanitizer is told of threads.
#if defined(__has_feature) && __has_feature(address_sanitizer)
extern "C" decltype(pthread_create) __interceptor_pthread_create;
extern "C" decltype(pthread_join) __interceptor_pthread_join;
extern "C" decltype(pthread_detach) __interceptor_pthread_detach;
#define POWERCUT_REAL_THREAD(name) __interceptor_##name
#else
#define POWERCUT_REAL_THREAD(name) POWERCUT_REAL(name)
#endif
#define POWERCUT_REAL(name)                                          \
  ([]() -> decltype(&::name) {                                       \
    static constinit std::atomic<decltype(&::name)> cache = nullptr; \
    return powercut::real_function(cache, #name);                    \
  }())

// Jumps, so that whoever is called sees the real caller.
#define POWERCUT_INTERPOSE_AS(name, real, parameters, arguments) \
  extern "C" decltype(name) __powercut_##name;                   \
  extern "C" int name parameters {                               \
    if (powercut::scheduled()) [[clang::musttail]]               \
      return __powercut_##name arguments;                        \
    [[clang::musttail]] return real arguments;                   \
  }
#define POWERCUT_INTERPOSE(name, parameters, arguments) \
  POWERCUT_INTERPOSE_AS(name, POWERCUT_REAL(name), parameters, arguments)

using Mutex = pthread_mutex_t;
using Lock = pthread_rwlock_t;
using Condition = pthread_cond_t;
using Time = timespec;

POWERCUT_INTERPOSE(pthread_mutex_lock, (Mutex * m), (m))
POWERCUT_INTERPOSE(pthread_mutex_trylock, (Mutex * m), (m))
POWERCUT_INTERPOSE(pthread_mutex_timedlock, (Mutex * m, const Time* until), (m, until))
POWERCUT_INTERPOSE(pthread_mutex_clocklock, (Mutex * m, clockid_t clock, const Time* until), (m, clock, until))
POWERCUT_INTERPOSE(pthread_mutex_unlock, (Mutex * m), (m))
POWERCUT_INTERPOSE(pthread_mutex_destroy, (Mutex * m), (m))

POWERCUT_INTERPOSE(pthread_spin_lock, (pthread_spinlock_t * lock), (lock))
POWERCUT_INTERPOSE(pthread_spin_trylock, (pthread_spinlock_t * lock), (lock))
POWERCUT_INTERPOSE(pthread_spin_unlock, (pthread_spinlock_t * lock), (lock))

POWERCUT_INTERPOSE(pthread_rwlock_rdlock, (Lock * lock), (lock))
POWERCUT_INTERPOSE(pthread_rwlock_wrlock, (Lock * lock), (lock))
POWERCUT_INTERPOSE(pthread_rwlock_tryrdlock, (Lock * lock), (lock))
POWERCUT_INTERPOSE(pthread_rwlock_trywrlock, (Lock * lock), (lock))
POWERCUT_INTERPOSE(pthread_rwlock_timedrdlock, (Lock * lock, const Time* until), (lock, until))
POWERCUT_INTERPOSE(pthread_rwlock_timedwrlock, (Lock * lock, const Time* until), (lock, until))
POWERCUT_INTERPOSE(pthread_rwlock_unlock, (Lock * lock), (lock))

POWERCUT_INTERPOSE(pthread_cond_wait, (Condition * c, Mutex* m), (c, m))
POWERCUT_INTERPOSE(pthread_cond_timedwait, (Condition * c, Mutex* m, const Time* until), (c, m, until))
POWERCUT_INTERPOSE(pthread_cond_clockwait, (Condition * c, Mutex* m, clockid_t clock, const Time* until),
                   (c, m, clock, until))
POWERCUT_INTERPOSE(pthread_cond_signal, (Condition * c), (c))
POWERCUT_INTERPOSE(pthread_cond_broadcast, (Condition * c), (c))
POWERCUT_INTERPOSE(pthread_cond_destroy, (Condition * c), (c))

POWERCUT_INTERPOSE(sem_wait, (sem_t * semaphore), (semaphore))
POWERCUT_INTERPOSE(sem_trywait, (sem_t * semaphore), (semaphore))
POWERCUT_INTERPOSE(sem_timedwait, (sem_t * semaphore, const Time* until), (semaphore, until))
POWERCUT_INTERPOSE(sem_post, (sem_t * semaphore), (semaphore))

POWERCUT_INTERPOSE(pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier))
POWERCUT_INTERPOSE(pthread_once, (pthread_once_t * once, void (*function)()), (once, function))

POWERCUT_INTERPOSE_AS(pthread_create, POWERCUT_REAL_THREAD(pthread_create),
                      (pthread_t * thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument),
                      (thread, attributes, body, argument))
POWERCUT_INTERPOSE_AS(pthread_join, POWERCUT_REAL_THREAD(pthread_join), (pthread_t thread, void** result),
                      (thread, result))
POWERCUT_INTERPOSE_AS(pthread_detach, POWERCUT_REAL_THREAD(pthread_detach), (pthread_t thread), (thread))

extern "C" int sched_yield() {
  if (powercut::scheduled()) return __powercut_pause();
  return static_cast<int>(powercut::system_call(SYS_sched_yield));
}
