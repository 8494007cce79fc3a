// Threads that wait for a lock by trying again: `retries HOW POOL`. Each tries in another way.
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <x86intrin.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "pool.h"

static pool* all;
static std::mutex mutex;
static std::atomic<int> word = 0;

static void put_both() {
  put(&all->data, 1);
#ifndef BUG
  persist(&all->data);
#endif
  put_and_persist(&all->ack, 1);
}

// A deadline by the clock, between two tries.
static uint64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
static void lock_by_clock() {
  while (!mutex.try_lock()) {
    const uint64_t until = nanoseconds() + 50'000;
    while (nanoseconds() < until) {
    }
  }
}
static void lock_by_chrono() {
  while (!mutex.try_lock()) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
    while (std::chrono::steady_clock::now() < until) {
    }
  }
}
static void lock_by_cycles() {
  while (!mutex.try_lock()) {
    const uint64_t until = __rdtsc() + 100'000;
    while (__rdtsc() < until) _mm_pause();
  }
}
// Sleeps that become longer.
static void lock_by_sleep() {
  for (long wait = 1; !mutex.try_lock(); wait *= 2) {
    const timespec time = {.tv_sec = 0, .tv_nsec = wait % 1'000'000};
    nanosleep(&time, nullptr);
  }
}
// A turn of the loop stores a count to the thread's own memory.
static void lock_by_count() {
  const auto tries = std::make_unique<volatile uint64_t[]>(4);
  for (int free = 0; !word.compare_exchange_strong(free, 1); free = 0) {
    for (uint64_t i = ++tries[0] % 8; i > 0; --i) tries[1] = tries[1] + 1;
  }
}

// For each processor: the processors on which a thread that runs there may go on.
static cpu_set_t next_to[CPU_SETSIZE];
static void lock_by_moving() {
  while (!mutex.try_lock()) sched_setaffinity(0, sizeof(cpu_set_t), &next_to[sched_getcpu()]);
}
static int locked(void (*lock)()) {
  std::thread others[2];
  for (std::thread& other : others) {
    other = std::thread([lock] {
      lock();
      put_both();
      if (word == 1) {
        word = 0;
      } else {
        mutex.unlock();
      }
    });
  }
  for (std::thread& other : others) other.join();
  return 0;
}

// `moves`: a thread is on another processor at each turn of its loop.
static int moved(bool moves) {
  cpu_set_t processors;
  sched_getaffinity(0, sizeof processors, &processors);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    next_to[i] = processors;
    if (moves && CPU_COUNT(&processors) > 1) CPU_CLR(i, &next_to[i]);
  }
  return locked(lock_by_moving);
}

// Each turn takes a lock and gives it back.
static int polled() {
  bool done = false;
  std::thread writer([&] {
    put_both();
    const std::lock_guard lock(mutex);
    done = true;
  });
  for (bool end = false; !end;) {
    const std::lock_guard lock(mutex);
    end = done;
  }
  writer.join();
  return 0;
}

int main(int argc, char** argv) {
  all = given_pool(argc, argv);
  const auto is = [&](const char* what) { return strcmp(argv[1], what) == 0; };
  if (is("clock")) return locked(lock_by_clock);
  if (is("chrono")) return locked(lock_by_chrono);
  if (is("cycles")) return locked(lock_by_cycles);
  if (is("sleep")) return locked(lock_by_sleep);
  if (is("count")) return locked(lock_by_count);
  if (is("moving")) return moved(true);
  if (is("staying")) return moved(false);
  if (is("poll")) return polled();
  return 2;
}
