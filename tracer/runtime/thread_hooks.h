// What target code asks of other threads: it waits, it takes a lock, it starts a thread. Whoever runs the target's
// threads as fibers of one thread of the system (a *scheduler*) hears it here; while nobody does, all of it is the C
// library's.
//
// A stand-in of a lock's function (lock_calls.cc) is one atomic step:
//   access(object)                 here others may run
//   looks at the object, and then either
//     announces a store with POWERCUT_STORE_IN_STEP, makes it, and returns; or
//     wait(object)                 here others run until one has stored to the object; looks again
// So nothing may run in between: the hook of such a store is not a place to switch. The state of a lock lies in the
// lock's own bytes, and whoever undoes memory undoes the lock.
#ifndef POWERCUT_TRACER_RUNTIME_THREAD_HOOKS_H_
#define POWERCUT_TRACER_RUNTIME_THREAD_HOOKS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct powercut_scheduler {
  void* self;
  // A turn of a waiting loop: pause, sched_yield, a sleep of any length, a wait with a time limit. `live` as in
  // hooks.h, out_of_steps. Called whatever `current` says.
  void (*pause)(void* self, const uint64_t* live);
  // The calling thread is about to read, and perhaps change, `size` bytes at `addr`, in the program's addresses.
  void (*access)(void* self, const void* addr, uint64_t size, const void* pc, const void* frame);
  // It cannot go on before somebody has changed them. May return early.
  void (*wait)(void* self, const void* addr, uint64_t size, const void* pc, const void* frame);
  // Threads of the target's own. create: 0, or an errno; the new thread runs later. join: returns once the thread has
  // ended, which is then gone; `result` may be null. detach: nobody will join it. exit: the calling thread ends; does
  // not return.
  int (*create)(void* self, uint64_t* thread, void* (*body)(void*), void* argument);
  int (*join)(void* self, uint64_t thread, void** result);
  int (*detach)(void* self, uint64_t thread);
  void (*exit)(void* self, void* result);
  // The number of the running thread, from 1 to POWERCUT_MOST_THREADS. 0: what runs is not a thread of the target (the
  // scheduler itself, say, in one of these functions), and what it asks for is the C library's.
  uint64_t (*current)(void* self);
  // Not 0: threads are the system's, so their handles, keys and names are, too. 0: a pthread_t is the thread's number.
  int of_system;
  // Nanoseconds of a clock of its own, which the running thread reads. Null: the C library's clocks count.
  uint64_t (*time)(void* self);
} powercut_scheduler;

// All zeroes: nobody schedules. Otherwise every function is set, but for `time`.
extern powercut_scheduler __powercut_scheduler;

#define POWERCUT_MOST_THREADS 15u

// The queue of those that wait in futex(2), the one piece of state without an object of its own. It changes as the
// target's memory does: announced, to be undone, and part of what makes two states the same.
void powercut_futex_queue(uint64_t* begin, uint64_t* end);

// The running thread's number, or 0 without a scheduler.
uint64_t powercut_scheduled(void);

// Emitted by the pass at `pause`; answers 0.
int __powercut_pause(void);

#ifdef __cplusplus
}
#endif
#endif  // POWERCUT_TRACER_RUNTIME_THREAD_HOOKS_H_
