// Threads that cannot be scheduled, or not all of the way: `odd WHAT POOL`.
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <thread>
#include <vector>

#include "pool.h"

static pool* all;

static void put_data() { put_and_persist(&all->data, 1); }

// It waits in a system call for what another thread writes.
static int waits_in_a_call() {
  int ends[2];
  if (pipe(ends) != 0) return 4;
  std::thread reader([&] {
    char byte;
    if (read(ends[0], &byte, 1) == 1) put_data();
  });
  sched_yield();
  if (write(ends[1], "x", 1) != 1) return 4;
  reader.join();
  return 0;
}

// Waits as above, where another thread was quicker.
static int waits_at_times() {
  int ends[2];
  std::atomic<int> written = 0;
  if (pipe(ends) != 0) return 4;
  std::thread reader([&] {
    char byte;
    put_data();
    if (written == 0 && read(ends[0], &byte, 1) != 1) abort();
  });
  written = 1;
  if (write(ends[1], "x", 1) != 1) return 4;
  reader.join();
  return 0;
}

static int depends_on_process() {
  std::thread writer([] { put_and_persist(&all->data, static_cast<uint64_t>(getpid())); });
  writer.join();
  return 0;
}

// The clock is the schedule's, and it does not stand still.
static int stores_times() {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  };
  const uint64_t began = now();
  std::thread writer([&] { put_and_persist(&all->data, now()); });
  writer.join();
  const uint64_t took = now() - began;
  return 1'000'000'000 / took == 0;
}

// Stores of a child are seen by nobody, whatever the schedule.
static int forks() {
  std::thread writer(put_data);
  if (const pid_t child = fork(); child == 0) _exit(0);
  writer.join();
  return 0;
}

static int many_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) threads.emplace_back(put_data);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

static int signals() {
  std::thread writer(put_data);
  pthread_kill(pthread_self(), SIGCHLD);
  writer.join();
  return 0;
}

// glibc starts a thread of its own.
static int timers() {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD;
  event.sigev_notify_function = [](sigval) {};
  timer_t timer;
  put_data();
  return timer_create(CLOCK_MONOTONIC, &event, &timer);
}

static int stores_for_ever() {
  std::atomic<int> stop = 0;
  std::thread writer([&] {
    for (uint64_t i = 1; stop == 0; ++i) put(&all->data, i);
  });
  put(&all->padding[0], 1);
  stop = 1;
  writer.join();
  return 0;
}

static int waits_for_ever() {
  std::atomic<int> never = 0;
  std::thread waiter([&] {
    put_data();
    while (never == 0) {
    }
  });
  waiter.join();
  return 0;
}

int main(int argc, char** argv) {
  all = given_pool(argc, argv);
  const auto is = [&](const char* what) { return strcmp(argv[1], what) == 0; };
  if (is("call")) return waits_in_a_call();
  if (is("at-times")) return waits_at_times();
  if (is("process")) return depends_on_process();
  if (is("times")) return stores_times();
  if (is("forks")) return forks();
  if (is("many")) return many_threads();
  if (is("signals")) return signals();
  if (is("timers")) return timers();
  if (is("stores")) return stores_for_ever();
  if (is("for-ever")) return waits_for_ever();
  put_data();
  return 0;
}
