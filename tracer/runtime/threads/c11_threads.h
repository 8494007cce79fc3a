// Room threads: stand-ins for the functions in which threads begin, end and wait, and the scheduler of programs.
//
// This file: glibc's threads of C11 (<threads.h>) are its threads of POSIX under other names. Private to the runtime.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_C11_THREADS_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_C11_THREADS_H_

#include <pthread.h>
#include <threads.h>

#include <cerrno>

namespace powercut::runtime {

// Returns the answer of a C11 function for the error number that its POSIX counterpart gave; 0 is no error.
inline int result_of_c11(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case EBUSY:
      return thrd_busy;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    default:
      return thrd_error;
  }
}

inline pthread_mutex_t* pthread_of(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t));

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_C11_THREADS_H_
