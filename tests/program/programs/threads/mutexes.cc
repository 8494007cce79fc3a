// std::mutex, std::thread. BUG: two threads take two mutexes in opposite orders, and wait for each other.
#include <mutex>
#include <thread>

#include "pool.h"

int main(int argc, char** argv) {
  pool* const all = given_pool(argc, argv);
  std::mutex data, ack;
  std::thread one([&] {
    const std::lock_guard first(data);
    put_and_persist(&all->data, 1);
    const std::lock_guard second(ack);
    put_and_persist(&all->ack, 1);
  });
  std::thread two([&] {
#ifdef BUG
    const std::lock_guard first(ack);
    const std::lock_guard second(data);
#else
    const std::lock_guard first(data);
    const std::lock_guard second(ack);
#endif
    put_and_persist(&all->data, 2);
  });
  one.join();
  two.join();
}
