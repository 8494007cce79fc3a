// Locks that uninstrumented code takes: this file's calls are such code's, as the C++ library's are.
#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tracer/runtime/thread_hooks.h"
#include "tracer/world/arena.h"
#include "tracer/world/virtual_world.h"

namespace powercut {
namespace {

class ThreadCalls : public testing::Test {
 protected:
  void SetUp() override {
    __powercut_scheduler = {
        .self = this,
        .pause = [](void* self, const uint64_t*) { ++of(self).pauses_; },
        .access =
            [](void* self, const void* at, uint64_t, const void*, const void*) {
              ++of(self).accesses_;
              of(self).last_ = at;
            },
        .wait = [](void*, const void*, uint64_t, const void*, const void*) { std::abort(); },
        .create =
            [](void* self, uint64_t* thread, void* (*)(void*), void*) {
              ++of(self).created_;
              *thread = 9;
              return 0;
            },
        .join =
            [](void* self, uint64_t thread, void**) {
              of(self).joined_ = thread;
              return 0;
            },
        .detach = [](void*, uint64_t) { return 0; },
        .exit = [](void*, void*) {},
        .current = [](void* self) { return of(self).thread_; },
        .of_system = 0,
        .time = nullptr,
    };
  }
  void TearDown() override {
    arena_active = false;
    __powercut_scheduler = {};
  }
  static ThreadCalls& of(void* self) { return *static_cast<ThreadCalls*>(self); }

  uint64_t thread_ = 1, joined_ = 0;
  int accesses_ = 0, pauses_ = 0, created_ = 0;
  const void* last_ = nullptr;
};

TEST_F(ThreadCalls, AreTheSchedulersWhileTargetCodeRuns) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  arena_active = true;
  pthread_mutex_lock(&mutex);
  arena_active = false;
  EXPECT_EQ(accesses_, 1);
  EXPECT_EQ(last_, &mutex);
  EXPECT_EQ(mutex.__data.__owner, 1) << "the scheduler's number";
}

TEST_F(ThreadCalls, OfTheEngineAreTheLibrarys) {
  std::mutex mutex;
  {
    const std::lock_guard lock(mutex);
  }
  thread_ = 0;  // what runs is the scheduler, called by target code
  arena_active = true;
  mutex.lock();
  mutex.unlock();
  arena_active = false;
  EXPECT_EQ(accesses_, 0);
}

// The kinds of conditions that glibc has differ in what they hold: a wait by one kind hears no signal by the other.
TEST_F(ThreadCalls, OfTheEngineReachTheConditionsThatAreMeant) {
  std::mutex mutex;
  std::condition_variable condition;
  bool ready = false;
  std::thread other([&] {
    const std::lock_guard lock(mutex);
    ready = true;
    condition.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    condition.wait(lock, [&] { return ready; });
  }
  other.join();
  EXPECT_TRUE(ready);
  EXPECT_EQ(created_, 0);
}

TEST_F(ThreadCalls, OfTheCppLibraryAreTheSchedulersToo) {
  std::condition_variable condition;
  arena_active = true;
  condition.notify_all();
  arena_active = false;
  EXPECT_EQ(accesses_, 1);
  pthread_t number = 0;
  arena_active = true;
  const int error = pthread_create(&number, nullptr, [](void* raw) { return raw; }, nullptr);
  pthread_join(number, nullptr);
  arena_active = false;
  EXPECT_EQ(error, 0);
  EXPECT_EQ(created_, 1);
  EXPECT_EQ(joined_, 9u);
}

TEST_F(ThreadCalls, ASleepIsATurnAndTheClockStays) {
  const uint64_t slept = virtual_world.state.slept;
  const timespec hour = {3600, 0};
  arena_active = true;
  const int error = nanosleep(&hour, nullptr);
  sched_yield();
  arena_active = false;
  EXPECT_EQ(error, 0);
  EXPECT_EQ(pauses_, 2);
  EXPECT_EQ(virtual_world.state.slept, slept);
}

}  // namespace
}  // namespace powercut
