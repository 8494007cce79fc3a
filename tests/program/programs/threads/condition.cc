// std::condition_variable. BUG: a thread waits for a signal that may have come before it waits.
#include <condition_variable>
#include <mutex>
#include <thread>

#include "pool.h"

int main(int argc, char** argv) {
  pool* const all = given_pool(argc, argv);
  std::mutex mutex;
  std::condition_variable condition;
  [[maybe_unused]] bool ready = false;
  std::thread consumer([&] {
    std::unique_lock lock(mutex);
#ifdef BUG
    condition.wait(lock);
#else
    condition.wait(lock, [&] { return ready; });
#endif
    put_and_persist(&all->ack, 1);
  });
  put_and_persist(&all->data, 1);
  {
    const std::lock_guard lock(mutex);
    ready = true;
  }
  condition.notify_one();
  consumer.join();
}
