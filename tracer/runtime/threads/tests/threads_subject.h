// Instrumented code that waits for other threads, for threads_test.cc: each function is the work of one thread.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_TESTS_THREADS_SUBJECT_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_TESTS_THREADS_SUBJECT_H_

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace powercut::subject {

// `wrong` counts events that must not happen.
struct Counter {
  std::mutex mutex;
  pthread_spinlock_t spin;
  mtx_t c11;
  int value = 0, inside = 0, wrong = 0;
};
void add_without_lock(Counter* counter);
void add_under_mutex(Counter* counter);
void add_under_spin_lock(Counter* counter);
void add_under_c11_mutex(Counter* counter);
void add_by_attempts(Counter* counter);

// Returns the error numbers of calls on three mutexes. A recursive mutex is taken twice and given back three times. A
// checking mutex is taken twice, tried, and given back twice. The third mutex was destroyed before.
std::vector<int> mutex_results();

struct Queue {
  std::mutex mutex;
  std::condition_variable filled;
  int items = 0, taken = 0;
};
void produce(Queue* queue, int count);
void consume(Queue* queue, int count);

struct Condition {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  int waiting = 0, woken = 0, timed_out = 0, first = 0;
};
void wait_for_signal(Condition* condition, int number);
void wait_a_second(Condition* condition);
void signal(Condition* condition);
// Signals once `waiting` threads wait.
void signal_when(Condition* condition, int waiting, int times);
void broadcast_when(Condition* condition, int waiting);

struct Readers {
  std::shared_mutex lock;
  int reading = 0, writing = 0, most = 0, wrong = 0;
};
void read_shared(Readers* readers);
void write_alone(Readers* readers);

struct Once {
  pthread_once_t pthread = PTHREAD_ONCE_INIT;
  once_flag c11 = ONCE_FLAG_INIT;
  std::once_flag cpp;
};
void call_each_once(Once* once);
int calls();
void forget_calls();
// The first call throws. Returns whether this call did.
bool call_once_throwing(Once* once);
int static_value();

struct Barrier {
  pthread_barrier_t barrier;
  int came = 0, last = 0, wrong = 0;
};
void make_barrier(Barrier* barrier, unsigned count);
void meet_twice(Barrier* barrier, int threads);

struct Semaphore {
  sem_t full;
  int items = 0, wrong = 0;
};
void make_semaphore(Semaphore* semaphore);
void post(Semaphore* semaphore, int count);
void take(Semaphore* semaphore, int count);

void wait_until_set(std::atomic<int>* flag);
void set_and_notify(std::atomic<int>* flag);
void set_silently(std::atomic<int>* flag);
void spin_until_set(std::atomic<int>* flag);
void sleep_until_set(std::atomic<int>* flag);

// Each function starts two threads and awaits them; returns the sum of the threads' results.
int start_cpp_threads();
int start_pthreads();
int start_c11_threads();
int own_number();

int& thread_local_value();  // 42 at first

}  // namespace powercut::subject
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_TESTS_THREADS_SUBJECT_H_
