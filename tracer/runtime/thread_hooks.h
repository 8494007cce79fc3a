// The seam between target code that asks something of other threads (waits, takes a lock, starts a thread) and a
// *scheduler*. A scheduler runs the target's threads as fibers of one thread of the system, or one at a time. While no
// scheduler is set, the C library answers everything that the target asks.
//
// A stand-in of a lock's function (lock_calls.cc) is one atomic step:
//   access(object)                 here others may run
//   looks at the object, and then either
//     announces a store with POWERCUT_STORE_IN_STEP, makes it, and returns; or
//     wait(object)                 here others run until one has stored to the object; looks again
// Nothing may run in between, so the hook of such a store is not a place to switch threads. The state of a lock lies in
// the lock's own bytes, and whoever undoes memory undoes the lock.
#ifndef POWERCUT_TRACER_RUNTIME_THREAD_HOOKS_H_
#define POWERCUT_TRACER_RUNTIME_THREAD_HOOKS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct powercut_scheduler {
  void* self;
  // A turn of a waiting loop: pause, sched_yield, a sleep of any length, a wait with a time limit. `live` is as for
  // powercut_sink.out_of_steps in hooks.h. The runtime calls `pause` whatever `current` says.
  void (*pause)(void* self, const uint64_t* live);
  // The calling thread is about to read, and perhaps change, `size` bytes at `addr`, in the program's addresses.
  void (*access)(void* self, const void* addr, uint64_t size, const void* pc, const void* frame);
  // The thread cannot go on before another thread has changed these bytes. The function may return early.
  void (*wait)(void* self, const void* addr, uint64_t size, const void* pc, const void* frame);
  // Threads of the target's own.
  // create: returns 0, or an errno; the new thread runs later.
  // join: returns once the thread has ended and is gone; `result` may be null.
  // detach: nobody will join the thread.
  // exit: the calling thread ends; the function does not return.
  int (*create)(void* self, uint64_t* thread, void* (*body)(void*), void* argument);
  int (*join)(void* self, uint64_t thread, void** result);
  int (*detach)(void* self, uint64_t thread);
  void (*exit)(void* self, void* result);
  // Returns the number of the running thread, from 1 to POWERCUT_MOST_THREADS. Returns 0 when the running code is not a
  // thread of the target's (the scheduler itself, say, in one of these functions). In that case the C library answers
  // what the code asks.
  uint64_t (*current)(void* self);
  // Not 0: threads are the system's, and so are their handles, keys and names. 0: a pthread_t is the thread's number.
  int of_system;
  // Returns nanoseconds of the scheduler's own clock, as the running thread reads it. Null: the C library's clocks
  // count.
  uint64_t (*time)(void* self);
} powercut_scheduler;

// All zeroes: nobody schedules. Otherwise every function but `time` is set.
extern powercut_scheduler __powercut_scheduler;

#define POWERCUT_MOST_THREADS 15u

// Returns the bounds of the queue of threads that wait in futex(2), the one piece of state without an object of its
// own. The queue changes as the target's memory does: changes are announced, can be undone, and tell two states apart.
void powercut_futex_queue(uint64_t* begin, uint64_t* end);

// Returns the running thread's number, or 0 without a scheduler.
uint64_t powercut_scheduled(void);

// Emitted by the pass at `pause`; returns 0.
int __powercut_pause(void);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_THREAD_HOOKS_H_
