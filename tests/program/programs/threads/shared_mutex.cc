// std::shared_mutex. BUG: the writer gives its lock back before its item is durable.
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "pool.h"

int main(int argc, char** argv) {
  pool* const all = given_pool(argc, argv);
  std::shared_mutex mutex;
  std::thread writer([&] {
    {
      const std::unique_lock lock(mutex);
      all->data = 7;
#ifndef BUG
      persist(&all->data);
#endif
    }
    persist(&all->data);
  });
  std::thread reader([&] {
    const std::shared_lock lock(mutex);
    if (all->data != 0) put_and_persist(&all->ack, 1);
  });
  writer.join();
  reader.join();
}
