// A scheduler for tests: threads are fibers, and at each point where others may run a seed chooses the next thread.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_TESTS_TOY_SCHEDULER_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_TESTS_TOY_SCHEDULER_H_

#include <ucontext.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "tracer/runtime/hooks.h"
#include "tracer/runtime/thread_hooks.h"

namespace powercut {

class ToyScheduler {
 public:
  enum class End { kAllDone, kDeadlock, kEndless };

  explicit ToyScheduler(uint32_t seed);
  ~ToyScheduler();
  ToyScheduler(const ToyScheduler&) = delete;
  ToyScheduler& operator=(const ToyScheduler&) = delete;

  // Runs one thread for each body, numbered from 1. Threads that did not end are left where they are.
  End run(const std::vector<std::function<void()>>& bodies);
  // Takes back every store that was announced, in reverse order.
  void undo();
  uint64_t accesses() const { return accesses_; }

 private:
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<char[]> stack;
    std::function<void*()> body;
    void* result = nullptr;
    bool ended = false;
    uint64_t begin = 0, end = 0;  // waits until these bytes change; equal: the thread does not wait
    uint64_t joins = 0;
  };
  struct Change {
    uint64_t address;
    std::vector<uint8_t> old;
  };

  uint64_t add(std::function<void*()> body);
  bool ready(const Fiber& fiber) const;
  void yield();
  void on_store(uint64_t address, uint64_t size);
  static void enter(uint32_t low, uint32_t high);

  std::mt19937 random_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  ucontext_t engine_{};
  uint64_t current_ = 0;
  uint64_t accesses_ = 0;
  std::vector<Change> changes_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_TESTS_TOY_SCHEDULER_H_
