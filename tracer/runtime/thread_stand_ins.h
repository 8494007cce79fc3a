// The functions of the C and C++ library that the runtime stands in for: functions by which code asks something of
// other threads, or of the clock (thread_hooks.h). Each stand-in is called __powercut_<name> and has the signature and
// the result of the real function.
#ifndef POWERCUT_TRACER_RUNTIME_THREAD_STAND_INS_H_
#define POWERCUT_TRACER_RUNTIME_THREAD_STAND_INS_H_

namespace powercut {

inline constexpr const char* kThreadStandIns[] = {
    // lock_calls.cc
    "pthread_mutex_lock", "pthread_mutex_trylock", "pthread_mutex_timedlock", "pthread_mutex_clocklock",
    "pthread_mutex_unlock", "pthread_mutex_init", "pthread_mutex_destroy", "mtx_lock", "mtx_trylock", "mtx_timedlock",
    "mtx_unlock", "mtx_init", "mtx_destroy", "pthread_spin_lock", "pthread_spin_trylock", "pthread_spin_unlock",
    "pthread_spin_init", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock", "pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockrdlock", "pthread_rwlock_clockwrlock", "pthread_rwlock_unlock", "pthread_rwlock_init",
    // condition_calls.cc
    "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_cond_signal",
    "pthread_cond_broadcast", "pthread_cond_init", "pthread_cond_destroy", "cnd_wait", "cnd_timedwait", "cnd_signal",
    "cnd_broadcast", "cnd_init", "cnd_destroy",
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",  // std::condition_variable::wait()
    "_ZNSt18condition_variable10notify_oneEv",                    // ... notify_one()
    "_ZNSt18condition_variable10notify_allEv",                    // ... notify_all()
    "_ZNSt18condition_variableC1Ev",                              // ... its constructor
    // wait_calls.cc
    "sem_wait", "sem_trywait", "sem_timedwait", "sem_clockwait", "sem_post", "sem_getvalue", "sem_init",
    "pthread_barrier_wait", "pthread_barrier_init", "pthread_barrier_destroy", "pthread_once", "call_once",
    "__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort",
    // thread_calls.cc
    "pthread_create", "pthread_join", "pthread_detach", "pthread_self", "pthread_exit", "pthread_setname_np",
    "pthread_setaffinity_np", "pthread_setspecific", "tss_set", "pthread_cancel", "pthread_kill", "thrd_create",
    "thrd_join", "thrd_detach", "thrd_current", "thrd_exit",
    // std::thread: what its constructor calls, join() and detach()
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", "_ZNSt6thread4joinEv",
    "_ZNSt6thread6detachEv", "sched_yield", "thrd_yield", "nanosleep", "clock_nanosleep", "thrd_sleep", "usleep",
    "sleep",
    // clock_calls.cc
    "clock_gettime", "gettimeofday", "time", "timespec_get",
    "_ZNSt6chrono3_V212steady_clock3nowEv",   // std::chrono::steady_clock::now()
    "_ZNSt6chrono3_V212system_clock3nowEv"};  // ... system_clock::now()

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_THREAD_STAND_INS_H_
