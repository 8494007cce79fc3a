// std::atomic in a waiting loop, a local variable of main(), and thread_local. BUG: the flag comes before the flush.
#include <atomic>
#include <thread>

#include "pool.h"

static thread_local int flushes = 0;

static void count_and_persist(const void* at) {
  persist(at);
  ++flushes;
}

int main(int argc, char** argv) {
  pool* const all = given_pool(argc, argv);
  std::atomic<int> ready = 0, counted = 0;
  std::thread producer([&] {
    put(&all->data, 7);
#ifndef BUG
    count_and_persist(&all->data);
#endif
    ready.store(1, std::memory_order_release);
    count_and_persist(&all->data);
    counted.fetch_add(flushes);
  });
  while (ready.load(std::memory_order_acquire) == 0) {
  }
  put(&all->ack, 1);
  count_and_persist(&all->ack);
  producer.join();
#ifdef BUG
  return flushes == 1 && counted == 1 ? 0 : 4;
#else
  return flushes == 1 && counted == 2 ? 0 : 4;
#endif
}
