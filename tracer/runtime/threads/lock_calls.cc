// Stand-ins for mutexes, spin locks and reader/writer locks of pthread, and for the mutexes of C11, which glibc makes
// of pthread's.
//
// Under a scheduler (thread_hooks.h) the stand-ins work on the lock's own bytes and call nobody. The bytes have the
// meaning that glibc gives them. A lock that was made, or taken and given back, before somebody scheduled thus goes on
// to serve.
//
// Without a scheduler a stand-in calls the C library's function. If that function would wait for ever for a lock in a
// watched pool, the listener is told: one thread runs target code there. A lock that is taken stays taken, since its
// holder is gone with the power. Accesses of the lock's functions to the pool are seen as those of any other code
// (hooks.h, powercut_alias).
//
// Known inaccuracies: a lock with a time limit is waited for without one. Robust mutexes and mutexes that lend priority
// are plain mutexes. Writers are not preferred, whatever the lock's attributes say: the scheduler tries all orders.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstddef>

#include "tracer/runtime/hooks/call_site.h"
#include "tracer/runtime/threads/c11_threads.h"
#include "tracer/runtime/threads/lock_step.h"
#include "tracer/runtime/watch_hooks.h"

using powercut::runtime::Attempt;
using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::lock_mutex;
using powercut::runtime::LockStep;
using powercut::runtime::place_of;
using powercut::runtime::pthread_of;
using powercut::runtime::result_of_c11;
using powercut::runtime::scheduled_thread;
using powercut::runtime::store_object;
using powercut::runtime::unlock_mutex;

namespace {

// ---- layouts: glibc's --------------------------------------------------------------------------------

struct MutexWords {
  int lock;        // 0: free
  unsigned depth;  // of a recursive mutex
  int owner;       // number of the thread
  unsigned users;
};
static_assert(offsetof(__pthread_mutex_s, __owner) == offsetof(MutexWords, owner));
static_assert(offsetof(__pthread_mutex_s, __kind) == sizeof(MutexWords));
MutexWords* words_of(pthread_mutex_t* mutex) { return reinterpret_cast<MutexWords*>(mutex); }
int kind_of(const pthread_mutex_t* mutex) { return LockStep::read(&mutex->__data.__kind); }
constexpr int kTypeMask = 3, kDestroyed = -1;

// Bits of __readers. glibc leaves kWritePhase behind, which means nothing here.
constexpr unsigned kWriter = 2, kReader = 8;
unsigned readers_in(unsigned word) { return word / kReader; }

// The values of a spin lock on x86.
constexpr int kSpinFree = 1, kSpinTaken = 0;

// ---- under a scheduler -------------------------------------------------------------------------------

int take_mutex(pthread_mutex_t* mutex, Attempt attempt, const CallSite& site) {
  const auto me = static_cast<int>(scheduled_thread());
  LockStep step(mutex, sizeof(MutexWords), site);
  for (;; step.wait()) {
    const MutexWords now = LockStep::read(words_of(mutex));
    const int kind = kind_of(mutex), type = kind & kTypeMask;
    if (kind == kDestroyed) return EINVAL;
    if (now.lock == 0) {
      step.store(words_of(mutex), {1, type == PTHREAD_MUTEX_RECURSIVE ? 1u : 0u, me, now.users + 1});
      return 0;
    }
    if (now.owner == me && type == PTHREAD_MUTEX_RECURSIVE) {
      step.store(words_of(mutex), {now.lock, now.depth + 1, now.owner, now.users});
      return 0;
    }
    if (attempt == Attempt::kOnce) return EBUSY;
    if (now.owner == me && type == PTHREAD_MUTEX_ERRORCHECK) return EDEADLK;
  }
}

int take_spin(int* lock, Attempt attempt, const CallSite& site) {
  LockStep step(lock, sizeof *lock, site);
  for (; LockStep::read(lock) != kSpinFree; step.wait()) {
    if (attempt == Attempt::kOnce) return EBUSY;
  }
  step.store(lock, kSpinTaken);
  return 0;
}

int* spin_word(pthread_spinlock_t* lock) { return const_cast<int*>(lock); }

void give_spin(int* lock, const CallSite& site) { LockStep(lock, sizeof *lock, site).store(lock, kSpinFree); }

// The words of the lock's readers and of its writer, which lie apart.
struct ReaderWriter {
  unsigned* readers;
  int* writer;
  LockStep step;
  ReaderWriter(pthread_rwlock_t* lock, const CallSite& site)
      : readers(&lock->__data.__readers),
        writer(&lock->__data.__cur_writer),
        step(lock, offsetof(__pthread_rwlock_arch_t, __cur_writer) + sizeof *writer, site) {}
};

int take_shared(pthread_rwlock_t* lock, Attempt attempt, const CallSite& site) {
  const auto me = static_cast<int>(scheduled_thread());
  ReaderWriter words(lock, site);
  for (;; words.step.wait()) {
    const unsigned readers = LockStep::read(words.readers);
    if ((readers & kWriter) == 0) {
      words.step.store(words.readers, readers + kReader);
      return 0;
    }
    if (attempt == Attempt::kOnce) return EBUSY;
    if (LockStep::read(words.writer) == me) return EDEADLK;
  }
}

int take_exclusive(pthread_rwlock_t* lock, Attempt attempt, const CallSite& site) {
  const auto me = static_cast<int>(scheduled_thread());
  ReaderWriter words(lock, site);
  for (;; words.step.wait()) {
    const unsigned readers = LockStep::read(words.readers);
    if ((readers & kWriter) == 0 && readers_in(readers) == 0) {
      words.step.store(words.readers, readers | kWriter);
      words.step.store(words.writer, me);
      return 0;
    }
    if (attempt == Attempt::kOnce) return EBUSY;
    if (LockStep::read(words.writer) == me) return EDEADLK;
  }
}

int give_rwlock(pthread_rwlock_t* lock, const CallSite& site) {
  const ReaderWriter words(lock, site);
  const unsigned readers = LockStep::read(words.readers);
  if ((readers & kWriter) != 0) {
    words.step.store(words.writer, 0);
    words.step.store(words.readers, readers & ~kWriter);
  } else if (readers_in(readers) != 0) {
    words.step.store(words.readers, readers - kReader);
  } else {
    return EPERM;
  }
  return 0;
}

int destroy_mutex(pthread_mutex_t* mutex, const CallSite& site) {
  const LockStep step(mutex, sizeof mutex->__data, site);
  if (LockStep::read(words_of(mutex)).lock != 0) return EBUSY;
  step.store(&mutex->__data.__kind, kDestroyed);
  return 0;
}

// ---- without one -------------------------------------------------------------------------------------

template <typename Lock>
int take(Lock* lock, int (*wait)(Lock*), int (*attempt)(Lock*), const CallSite& site) {
  if (place_of(lock) == lock || __powercut_watch.blocked == nullptr) return wait(lock);
  const int result = attempt(lock);
  if (result == EBUSY) __powercut_watch.blocked(site.pc, site.frame);
  return result;
}

}  // namespace

namespace powercut::runtime {

int lock_mutex(pthread_mutex_t* mutex, const CallSite& site) { return take_mutex(mutex, Attempt::kUntilTaken, site); }

int unlock_mutex(pthread_mutex_t* mutex, const CallSite& site) {
  const auto me = static_cast<int>(scheduled_thread());
  const LockStep step(mutex, sizeof(MutexWords), site);
  const MutexWords now = LockStep::read(words_of(mutex));
  const int type = kind_of(mutex) & kTypeMask;
  const bool checked = type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK;
  if (checked && (now.lock == 0 || now.owner != me)) return EPERM;
  if (type == PTHREAD_MUTEX_RECURSIVE && now.depth > 1) {
    step.store(words_of(mutex), {now.lock, now.depth - 1, now.owner, now.users});
  } else {
    step.store(words_of(mutex), {0, 0, 0, now.users - 1});
  }
  return 0;
}

}  // namespace powercut::runtime

extern "C" {

// ---- mutexes -----------------------------------------------------------------------------------------

int __powercut_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (scheduled_thread() != 0) return lock_mutex(mutex, call_site());
  return take(mutex, pthread_mutex_lock, pthread_mutex_trylock, call_site());
}

int __powercut_pthread_mutex_trylock(pthread_mutex_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(pthread_mutex_trylock(mutex));
  return take_mutex(mutex, Attempt::kOnce, call_site());
}

int __powercut_pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_mutex_timedlock(mutex, until));
  return lock_mutex(mutex, call_site());
}

int __powercut_pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_mutex_clocklock(mutex, clock, until));
  return lock_mutex(mutex, call_site());
}

int __powercut_pthread_mutex_unlock(pthread_mutex_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(pthread_mutex_unlock(mutex));
  return unlock_mutex(mutex, call_site());
}

int __powercut_pthread_mutex_init(pthread_mutex_t* mutex, const pthread_mutexattr_t* attributes) {
  POWERCUT_UNLESS_SCHEDULED(pthread_mutex_init(mutex, attributes));
  pthread_mutex_t made;
  const int result = pthread_mutex_init(&made, attributes);
  if (result == 0) store_object(mutex, made, call_site());
  return result;
}

int __powercut_pthread_mutex_destroy(pthread_mutex_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(pthread_mutex_destroy(mutex));
  return destroy_mutex(mutex, call_site());
}

int __powercut_mtx_lock(mtx_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(mtx_lock(mutex));
  return result_of_c11(lock_mutex(pthread_of(mutex), call_site()));
}

int __powercut_mtx_trylock(mtx_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(mtx_trylock(mutex));
  return result_of_c11(take_mutex(pthread_of(mutex), Attempt::kOnce, call_site()));
}

int __powercut_mtx_timedlock(mtx_t* mutex, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(mtx_timedlock(mutex, until));
  return result_of_c11(lock_mutex(pthread_of(mutex), call_site()));
}

int __powercut_mtx_unlock(mtx_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(mtx_unlock(mutex));
  return result_of_c11(unlock_mutex(pthread_of(mutex), call_site()));
}

int __powercut_mtx_init(mtx_t* mutex, int type) {
  POWERCUT_UNLESS_SCHEDULED(mtx_init(mutex, type));
  mtx_t made;
  const int result = mtx_init(&made, type);
  if (result == thrd_success) store_object(mutex, made, call_site());
  return result;
}

void __powercut_mtx_destroy(mtx_t* mutex) {
  POWERCUT_UNLESS_SCHEDULED(mtx_destroy(mutex));
  destroy_mutex(pthread_of(mutex), call_site());
}

// ---- spin locks --------------------------------------------------------------------------------------

int __powercut_pthread_spin_lock(pthread_spinlock_t* lock) {
  if (scheduled_thread() != 0) return take_spin(spin_word(lock), Attempt::kUntilTaken, call_site());
  return take(lock, pthread_spin_lock, pthread_spin_trylock, call_site());
}

int __powercut_pthread_spin_trylock(pthread_spinlock_t* lock) {
  POWERCUT_UNLESS_SCHEDULED(pthread_spin_trylock(lock));
  return take_spin(spin_word(lock), Attempt::kOnce, call_site());
}

int __powercut_pthread_spin_unlock(pthread_spinlock_t* lock) {
  POWERCUT_UNLESS_SCHEDULED(pthread_spin_unlock(lock));
  give_spin(spin_word(lock), call_site());
  return 0;
}

int __powercut_pthread_spin_init(pthread_spinlock_t* lock, int shared) {
  POWERCUT_UNLESS_SCHEDULED(pthread_spin_init(lock, shared));
  store_object(spin_word(lock), kSpinFree, call_site());
  return 0;
}

// ---- reader/writer locks -----------------------------------------------------------------------------

int __powercut_pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  if (scheduled_thread() != 0) return take_shared(lock, Attempt::kUntilTaken, call_site());
  return take(lock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, call_site());
}

int __powercut_pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  if (scheduled_thread() != 0) return take_exclusive(lock, Attempt::kUntilTaken, call_site());
  return take(lock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, call_site());
}

int __powercut_pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_tryrdlock(lock));
  return take_shared(lock, Attempt::kOnce, call_site());
}

int __powercut_pthread_rwlock_trywrlock(pthread_rwlock_t* lock) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_trywrlock(lock));
  return take_exclusive(lock, Attempt::kOnce, call_site());
}

int __powercut_pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_timedrdlock(lock, until));
  return take_shared(lock, Attempt::kUntilTaken, call_site());
}

int __powercut_pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_timedwrlock(lock, until));
  return take_exclusive(lock, Attempt::kUntilTaken, call_site());
}

int __powercut_pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_clockrdlock(lock, clock, until));
  return take_shared(lock, Attempt::kUntilTaken, call_site());
}

int __powercut_pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* until) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_clockwrlock(lock, clock, until));
  return take_exclusive(lock, Attempt::kUntilTaken, call_site());
}

int __powercut_pthread_rwlock_unlock(pthread_rwlock_t* lock) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_unlock(lock));
  return give_rwlock(lock, call_site());
}

int __powercut_pthread_rwlock_init(pthread_rwlock_t* lock, const pthread_rwlockattr_t* attributes) {
  POWERCUT_UNLESS_SCHEDULED(pthread_rwlock_init(lock, attributes));
  pthread_rwlock_t made;
  const int result = pthread_rwlock_init(&made, attributes);
  if (result == 0) store_object(lock, made, call_site());
  return result;
}

}  // extern "C"
