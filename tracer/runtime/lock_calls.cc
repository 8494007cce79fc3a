// Stand-ins for pthread functions that wait, for locks that lie in a watched pool. One thread runs target code there: a
// lock that is taken stays taken, since whoever held it is gone with the power. So where the real function would wait
// for ever, the listener is told. What the lock's functions do to the pool is seen as that of any other code (hooks.h,
// powercut_alias).
#include <pthread.h>
#include <semaphore.h>

#include <cerrno>

#include "tracer/runtime/call_site.h"
#include "tracer/runtime/watch_hooks.h"

using powercut::runtime::call_site;
using powercut::runtime::CallSite;
using powercut::runtime::place_of;

namespace {

template <typename Lock>
int take(Lock* lock, int (*wait)(Lock*), int (*attempt)(Lock*), const CallSite& site) {
  if (place_of(lock) == lock || __powercut_watch.blocked == nullptr) return wait(lock);
  const int result = attempt(lock);
  if (result == EBUSY) __powercut_watch.blocked(site.pc, site.frame);
  return result;
}

}  // namespace

extern "C" {

int __powercut_pthread_mutex_lock(pthread_mutex_t* lock) {
  return take(lock, pthread_mutex_lock, pthread_mutex_trylock, call_site());
}

int __powercut_pthread_spin_lock(pthread_spinlock_t* lock) {
  return take(lock, pthread_spin_lock, pthread_spin_trylock, call_site());
}

int __powercut_pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  return take(lock, pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, call_site());
}

int __powercut_pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  return take(lock, pthread_rwlock_wrlock, pthread_rwlock_trywrlock, call_site());
}

int __powercut_sem_wait(sem_t* semaphore) {
  if (place_of(semaphore) == semaphore || __powercut_watch.blocked == nullptr) return sem_wait(semaphore);
  const CallSite site = call_site();
  const int result = sem_trywait(semaphore);
  if (result != 0 && errno == EAGAIN) __powercut_watch.blocked(site.pc, site.frame);
  return result;
}

}  // extern "C"
