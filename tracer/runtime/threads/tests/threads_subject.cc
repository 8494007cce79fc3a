#include "tracer/runtime/threads/tests/threads_subject.h"

#include <immintrin.h>

#include <chrono>
#include <thread>

namespace powercut::subject {
namespace {

// Other threads may come in between.
void add(Counter* counter) {
  if (counter->inside++ != 0) ++counter->wrong;
  const int before = counter->value;
  _mm_pause();
  counter->value = before + 1;
  --counter->inside;
}

constinit int call_count = 0;
void count_call() { ++call_count; }
thread_local int of_thread = 42;

}  // namespace

void add_without_lock(Counter* counter) { add(counter); }

void add_under_mutex(Counter* counter) {
  for (int i = 0; i < 3; ++i) {
    const std::lock_guard lock(counter->mutex);
    add(counter);
  }
}

void add_under_spin_lock(Counter* counter) {
  for (int i = 0; i < 3; ++i) {
    pthread_spin_lock(&counter->spin);
    add(counter);
    pthread_spin_unlock(&counter->spin);
  }
}

void add_under_c11_mutex(Counter* counter) {
  for (int i = 0; i < 3; ++i) {
    if (mtx_lock(&counter->c11) != thrd_success) ++counter->wrong;
    add(counter);
    if (mtx_unlock(&counter->c11) != thrd_success) ++counter->wrong;
  }
}

void add_by_attempts(Counter* counter) {
  while (!counter->mutex.try_lock()) std::this_thread::yield();
  add(counter);
  counter->mutex.unlock();
}

std::vector<int> mutex_results() {
  std::vector<int> out;
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutex_t mutex;
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&mutex, &attributes);
  for (int i = 0; i < 2; ++i) out.push_back(pthread_mutex_lock(&mutex));
  for (int i = 0; i < 3; ++i) out.push_back(pthread_mutex_unlock(&mutex));
  pthread_mutex_destroy(&mutex);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&mutex, &attributes);
  for (int i = 0; i < 2; ++i) out.push_back(pthread_mutex_lock(&mutex));
  out.push_back(pthread_mutex_trylock(&mutex));
  for (int i = 0; i < 2; ++i) out.push_back(pthread_mutex_unlock(&mutex));
  pthread_mutex_destroy(&mutex);
  out.push_back(pthread_mutex_lock(&mutex));
  return out;
}

void produce(Queue* queue, int count) {
  for (int i = 0; i < count; ++i) {
    {
      const std::lock_guard lock(queue->mutex);
      ++queue->items;
    }
    queue->filled.notify_one();
  }
}

void consume(Queue* queue, int count) {
  for (int i = 0; i < count; ++i) {
    std::unique_lock lock(queue->mutex);
    queue->filled.wait(lock, [&] { return queue->items != 0; });
    --queue->items;
    ++queue->taken;
  }
}

void wait_for_signal(Condition* condition, int number) {
  pthread_mutex_lock(&condition->mutex);
  ++condition->waiting;
  pthread_cond_wait(&condition->condition, &condition->mutex);
  if (condition->woken++ == 0) condition->first = number;
  pthread_mutex_unlock(&condition->mutex);
}

void wait_a_second(Condition* condition) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  ++until.tv_sec;
  pthread_mutex_lock(&condition->mutex);
  if (pthread_cond_timedwait(&condition->condition, &condition->mutex, &until) == 0) {
    ++condition->woken;
  } else {
    ++condition->timed_out;
  }
  pthread_mutex_unlock(&condition->mutex);
}

void signal(Condition* condition) { pthread_cond_signal(&condition->condition); }

namespace {

void await(Condition* condition, int waiting) {
  for (;;) {
    pthread_mutex_lock(&condition->mutex);
    const bool enough = condition->waiting >= waiting;
    pthread_mutex_unlock(&condition->mutex);
    if (enough) return;
    sched_yield();
  }
}

}  // namespace

void signal_when(Condition* condition, int waiting, int times) {
  await(condition, waiting);
  for (int i = 0; i < times; ++i) pthread_cond_signal(&condition->condition);
}

void broadcast_when(Condition* condition, int waiting) {
  await(condition, waiting);
  pthread_cond_broadcast(&condition->condition);
}

void read_shared(Readers* readers) {
  const std::shared_lock lock(readers->lock);
  ++readers->reading;
  if (readers->writing != 0) ++readers->wrong;
  if (readers->reading > readers->most) readers->most = readers->reading;
  _mm_pause();
  --readers->reading;
}

void write_alone(Readers* readers) {
  const std::unique_lock lock(readers->lock);
  ++readers->writing;
  if (readers->reading != 0 || readers->writing != 1) ++readers->wrong;
  _mm_pause();
  --readers->writing;
}

void call_each_once(Once* once) {
  pthread_once(&once->pthread, count_call);
  call_once(&once->c11, count_call);
  std::call_once(once->cpp, count_call);
}

int calls() { return call_count; }
void forget_calls() { call_count = 0; }

bool call_once_throwing(Once* once) {
  try {
    std::call_once(once->cpp, [] {
      if (++call_count == 1) throw 1;
    });
    return false;
  } catch (int) {
    return true;
  }
}

int static_value() {
  static const int value = [] {
    _mm_pause();
    return ++call_count;
  }();
  return value;
}

void make_barrier(Barrier* barrier, unsigned count) { pthread_barrier_init(&barrier->barrier, nullptr, count); }

void meet_twice(Barrier* barrier, int threads) {
  for (int round = 1; round <= 2; ++round) {
    ++barrier->came;
    if (pthread_barrier_wait(&barrier->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) ++barrier->last;
    if (barrier->came < round * threads) ++barrier->wrong;
  }
}

void make_semaphore(Semaphore* semaphore) { sem_init(&semaphore->full, 0, 0); }

void post(Semaphore* semaphore, int count) {
  for (int i = 0; i < count; ++i) {
    ++semaphore->items;
    sem_post(&semaphore->full);
  }
}

void take(Semaphore* semaphore, int count) {
  for (int i = 0; i < count; ++i) {
    sem_wait(&semaphore->full);
    if (semaphore->items-- == 0) ++semaphore->wrong;
  }
}

void wait_until_set(std::atomic<int>* flag) { flag->wait(0); }

void set_and_notify(std::atomic<int>* flag) {
  flag->store(1);
  flag->notify_all();
}

void set_silently(std::atomic<int>* flag) { flag->store(1); }

void spin_until_set(std::atomic<int>* flag) {
  while (flag->load() == 0) _mm_pause();
}

void sleep_until_set(std::atomic<int>* flag) {
  while (flag->load() == 0) std::this_thread::sleep_for(std::chrono::hours(1));
}

int start_cpp_threads() {
  int first = 0, second = 0;
  std::thread one([&] { first = 1; });
  std::thread other([&] { second = 2; });
  if (one.get_id() == other.get_id()) return -1;
  one.join();
  other.join();
  return one.joinable() ? -1 : first + second;
}

int start_pthreads() {
  pthread_t threads[2];
  for (pthread_t& thread : threads) {
    pthread_create(&thread, nullptr, [](void*) -> void* { return reinterpret_cast<void*>(pthread_self()); }, nullptr);
  }
  int sum = 0;
  for (const pthread_t thread : threads) {
    void* result = nullptr;
    pthread_join(thread, &result);
    sum += result == reinterpret_cast<void*>(thread) ? 1 : 0;
  }
  return sum;
}

int start_c11_threads() {
  thrd_t threads[2];
  int argument = 5;
  for (thrd_t& thread : threads) {
    thrd_create(&thread, [](void* raw) { return -*static_cast<int*>(raw); }, &argument);
  }
  int sum = 0;
  for (const thrd_t thread : threads) {
    int result = 0;
    thrd_join(thread, &result);
    sum += result;
  }
  return sum;
}

int own_number() { return static_cast<int>(pthread_self()); }

int& thread_local_value() { return of_thread; }

}  // namespace powercut::subject
