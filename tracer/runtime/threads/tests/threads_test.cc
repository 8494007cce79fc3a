// The stand-ins for the functions of threads (thread_hooks.h), under a scheduler that tries many orders. A rule must
// hold in every order; an event that may happen must happen in one.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tracer/runtime/thread_stand_ins.h"
#include "tracer/runtime/threads/tests/threads_subject.h"
#include "tracer/runtime/threads/tests/toy_scheduler.h"

namespace powercut {
namespace {

using End = ToyScheduler::End;
using Bodies = std::vector<std::function<void()>>;
constexpr uint32_t kSeeds = 300;

// Runs a fresh state in each order; `check` sees the state at the end. The state is held by a pointer, since `State`
// need not be movable.
template <typename State>
void in_all_orders(const std::function<Bodies(State*)>& bodies, const std::function<void(State*, End)>& check) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    State state{};
    End end{};
    {
      ToyScheduler scheduler(seed);
      end = scheduler.run(bodies(&state));
    }
    SCOPED_TRACE(seed);
    check(&state, end);
    if (testing::Test::HasFailure()) return;
  }
}

Bodies twice(const std::function<void()>& body) { return {body, body}; }

TEST(Threads, EveryStandInExists) {
  for (const char* name : kThreadStandIns) {
    EXPECT_NE(dlsym(RTLD_DEFAULT, (std::string("__powercut_") + name).c_str()), nullptr) << name;
  }
}

TEST(Threads, WithoutASchedulerTheLibrarysOwnFunctionsRun) {
  subject::Counter counter;
  subject::add_under_mutex(&counter);
  EXPECT_EQ(counter.value, 3);
  EXPECT_EQ(subject::start_cpp_threads(), 3);
  EXPECT_EQ(subject::start_pthreads(), 2);
  EXPECT_EQ(subject::start_c11_threads(), -10);
  EXPECT_NE(subject::own_number(), 0);
}

// The other tests rely on this: orders in which an update is lost exist, and are tried.
TEST(Threads, WithoutALockAnUpdateIsLostInSomeOrder) {
  std::set<int> values;
  in_all_orders<subject::Counter>([](auto* counter) { return twice([=] { subject::add_without_lock(counter); }); },
                                  [&](auto* counter, End) { values.insert(counter->value); });
  EXPECT_EQ(values, (std::set<int>{1, 2}));
}

struct CountedLock {
  const char* name;
  void (*add)(subject::Counter*);
  int value;
};

class Locks : public testing::TestWithParam<CountedLock> {};

TEST_P(Locks, AreHeldByOneThread) {
  in_all_orders<subject::Counter>(
      [](auto* counter) {
        pthread_spin_init(&counter->spin, PTHREAD_PROCESS_PRIVATE);
        mtx_init(&counter->c11, mtx_plain);
        return twice([=] { GetParam().add(counter); });
      },
      [](auto* counter, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(counter->value, GetParam().value);
        EXPECT_EQ(counter->wrong, 0);
      });
}

INSTANTIATE_TEST_SUITE_P(OfAllKinds, Locks,
                         testing::Values(CountedLock{"Mutex", subject::add_under_mutex, 6},
                                         CountedLock{"SpinLock", subject::add_under_spin_lock, 6},
                                         CountedLock{"C11Mutex", subject::add_under_c11_mutex, 6},
                                         CountedLock{"Attempts", subject::add_by_attempts, 2}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Threads, KindsOfMutexesAnswerAsTheLibrarysDo) {
  const std::vector<int> real = subject::mutex_results();
  std::vector<int> scheduled;
  ToyScheduler scheduler(1);
  EXPECT_EQ(scheduler.run({[&] { scheduled = subject::mutex_results(); }}), End::kAllDone);
  EXPECT_EQ(scheduled, real);
  EXPECT_EQ(real, (std::vector<int>{0, 0, 0, 0, EPERM, 0, EDEADLK, EBUSY, 0, EPERM, EINVAL}));
}

TEST(Threads, AMutexThatItsOwnerTakesAgainIsADeadlock) {
  std::mutex mutex;
  ToyScheduler scheduler(1);
  EXPECT_EQ(scheduler.run({[&] {
    // The call is the subject's own, since this file is not instrumented.
    subject::Counter* counter = reinterpret_cast<subject::Counter*>(&mutex);
    static_assert(offsetof(subject::Counter, mutex) == 0);
    *reinterpret_cast<int*>(&mutex) = 1;  // held
    subject::add_under_mutex(counter);
  }}),
            End::kDeadlock);
}

TEST(Threads, AConditionWithAPredicateLosesNoWakeUp) {
  in_all_orders<subject::Queue>(
      [](auto* queue) {
        return Bodies{[=] { subject::produce(queue, 4); }, [=] { subject::consume(queue, 2); },
                      [=] { subject::consume(queue, 2); }};
      },
      [](auto* queue, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(queue->taken, 4);
      });
}

TEST(Threads, ASignalBeforeTheWaitIsLost) {
  std::set<End> ends;
  in_all_orders<subject::Condition>(
      [](auto* condition) {
        return Bodies{[=] { subject::wait_for_signal(condition, 1); }, [=] { subject::signal(condition); }};
      },
      [&](auto*, End end) { ends.insert(end); });
  EXPECT_EQ(ends, (std::set<End>{End::kAllDone, End::kDeadlock}));
}

TEST(Threads, ASignalWakesOneOfThoseThatWaitAndAnyOfThem) {
  std::set<int> first;
  in_all_orders<subject::Condition>(
      [](auto* condition) {
        return Bodies{[=] { subject::wait_for_signal(condition, 1); }, [=] { subject::wait_for_signal(condition, 2); },
                      [=] { subject::signal_when(condition, 2, 1); }};
      },
      [&](auto* condition, End end) {
        EXPECT_EQ(end, End::kDeadlock);
        EXPECT_EQ(condition->woken, 1);
        first.insert(condition->first);
      });
  EXPECT_EQ(first, (std::set<int>{1, 2}));
}

TEST(Threads, TwoSignalsWakeTwo) {
  in_all_orders<subject::Condition>(
      [](auto* condition) {
        return Bodies{[=] { subject::wait_for_signal(condition, 1); }, [=] { subject::wait_for_signal(condition, 2); },
                      [=] { subject::signal_when(condition, 2, 2); }};
      },
      [](auto* condition, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(condition->woken, 2);
      });
}

// The third thread comes when the two signals were given: the signals are not for it.
TEST(Threads, ASignalIsNotForThoseThatCameLater) {
  in_all_orders<subject::Condition>(
      [](auto* condition) {
        return Bodies{[=] { subject::wait_for_signal(condition, 1); }, [=] { subject::wait_for_signal(condition, 2); },
                      [=] {
                        subject::signal_when(condition, 2, 2);
                        subject::wait_for_signal(condition, 3);
                      }};
      },
      [](auto* condition, End end) {
        EXPECT_EQ(end, End::kDeadlock);
        EXPECT_EQ(condition->woken, 2);
        EXPECT_NE(condition->first, 3);
      });
}

TEST(Threads, ABroadcastWakesAll) {
  in_all_orders<subject::Condition>(
      [](auto* condition) {
        return Bodies{[=] { subject::wait_for_signal(condition, 1); }, [=] { subject::wait_for_signal(condition, 2); },
                      [=] { subject::wait_for_signal(condition, 3); }, [=] { subject::broadcast_when(condition, 3); }};
      },
      [](auto* condition, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(condition->woken, 3);
      });
}

TEST(Threads, AWaitWithALimitEndsByItselfOrBySignal) {
  std::set<int> woken;
  in_all_orders<subject::Condition>(
      [](auto* condition) {
        return Bodies{[=] { subject::wait_a_second(condition); }, [=] { subject::signal(condition); }};
      },
      [&](auto* condition, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(condition->woken + condition->timed_out, 1);
        woken.insert(condition->woken);
        const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
        EXPECT_EQ(memcmp(&condition->condition, &fresh, sizeof fresh), 0) << "nobody waits any more";
      });
  EXPECT_EQ(woken, (std::set<int>{0, 1}));
}

TEST(Threads, ReadersShareALockAndAWriterHasItAlone) {
  std::set<int> most;
  in_all_orders<subject::Readers>(
      [](auto* readers) {
        return Bodies{[=] { subject::read_shared(readers); }, [=] { subject::read_shared(readers); },
                      [=] { subject::write_alone(readers); }, [=] { subject::write_alone(readers); }};
      },
      [&](auto* readers, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(readers->wrong, 0);
        most.insert(readers->most);
      });
  EXPECT_EQ(most, (std::set<int>{1, 2}));
}

// glibc leaves a bit behind in a lock that was written under, and understands the bytes that the stand-ins leave.
TEST(Threads, ALockServesBeforeAndAfterASchedule) {
  subject::Readers readers;
  subject::write_alone(&readers);
  {
    ToyScheduler scheduler(1);
    EXPECT_EQ(scheduler.run({[&] { subject::read_shared(&readers); }, [&] { subject::write_alone(&readers); }}),
              End::kAllDone);
  }
  subject::read_shared(&readers);
  subject::write_alone(&readers);
  EXPECT_EQ(readers.wrong, 0);
}

TEST(Threads, OnceIsOnceAndOthersAwaitIt) {
  in_all_orders<subject::Once>(
      [](auto* once) {
        subject::forget_calls();
        return twice([=] {
          subject::call_each_once(once);
          EXPECT_EQ(subject::calls(), 3);
        });
      },
      [](auto*, End end) { EXPECT_EQ(end, End::kAllDone); });
}

TEST(Threads, AnExceptionLeavesOnceToTheNext) {
  in_all_orders<subject::Once>(
      [](auto* once) {
        subject::forget_calls();
        return Bodies{[=] {
          EXPECT_TRUE(subject::call_once_throwing(once));
          EXPECT_FALSE(subject::call_once_throwing(once));
          EXPECT_FALSE(subject::call_once_throwing(once));
        }};
      },
      [](auto*, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(subject::calls(), 2);
      });
}

TEST(Threads, AStaticVariableIsInitialisedOnce) {
  subject::forget_calls();
  ToyScheduler scheduler(3);
  std::vector<int> values;
  EXPECT_EQ(scheduler.run(twice([&] { values.push_back(subject::static_value()); })), End::kAllDone);
  EXPECT_EQ(values, (std::vector<int>{1, 1}));
}

TEST(Threads, ABarrierHoldsAllUntilTheLastHasCome) {
  in_all_orders<subject::Barrier>(
      [](auto* barrier) {
        subject::make_barrier(barrier, 3);
        const auto meet = [=] { subject::meet_twice(barrier, 3); };
        return Bodies{meet, meet, meet};
      },
      [](auto* barrier, End end) {
        ASSERT_EQ(end, End::kAllDone);  // the real function, below, would await the other threads
        EXPECT_EQ(barrier->wrong, 0);
        EXPECT_EQ(barrier->last, 2) << "one of each round";
        EXPECT_EQ(pthread_barrier_destroy(&barrier->barrier), 0);
      });
}

TEST(Threads, ASemaphoreLetsAsManyPassAsWerePosted) {
  in_all_orders<subject::Semaphore>(
      [](auto* semaphore) {
        subject::make_semaphore(semaphore);
        return Bodies{[=] { subject::post(semaphore, 4); }, [=] { subject::take(semaphore, 2); },
                      [=] { subject::take(semaphore, 2); }};
      },
      [](auto* semaphore, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(semaphore->wrong, 0);
      });
}

TEST(Threads, AnAtomicThatIsNotifiedWakesAll) {
  in_all_orders<std::atomic<int>>(
      [](auto* flag) {
        return Bodies{[=] { subject::wait_until_set(flag); }, [=] { subject::wait_until_set(flag); },
                      [=] { subject::set_and_notify(flag); }};
      },
      [](auto*, End end) { EXPECT_EQ(end, End::kAllDone); });
}

TEST(Threads, AnAtomicThatNobodyNotifiesLeavesThoseThatSleep) {
  uint64_t begin = 0, end = 0;
  powercut_futex_queue(&begin, &end);
  auto* const queue = reinterpret_cast<volatile uint64_t*>(begin);
  in_all_orders<std::atomic<int>>(
      [=](auto* flag) {
        return Bodies{[=] { subject::wait_until_set(flag); },
                      [=] {
                        while (*queue == 0) __powercut_pause();  // the thread has looked, and sleeps
                        subject::set_silently(flag);
                      }};
      },
      [=](auto*, End how) {
        EXPECT_EQ(how, End::kDeadlock);
        memset(reinterpret_cast<void*>(begin), 0, end - begin);  // a sleeping thread is left there
      });
}

TEST(Threads, LoopsThatPauseOrSleepLetOthersGoOn) {
  in_all_orders<std::atomic<int>>(
      [](auto* flag) {
        return Bodies{[=] { subject::spin_until_set(flag); }, [=] { subject::sleep_until_set(flag); },
                      [=] { subject::set_silently(flag); }};
      },
      [](auto*, End end) { EXPECT_EQ(end, End::kAllDone); });
}

TEST(Threads, ThreadsThatTheTargetStartsAreTheSchedulers) {
  struct Sums {
    int cpp = 0, pthreads = 0, c11 = 0, number = 0;
  };
  in_all_orders<Sums>(
      [](auto* sums) {
        return Bodies{[=] { sums->cpp = subject::start_cpp_threads(); },
                      [=] { sums->pthreads = subject::start_pthreads(); },
                      [=] { sums->c11 = subject::start_c11_threads(); }, [=] { sums->number = subject::own_number(); }};
      },
      [](auto* sums, End end) {
        EXPECT_EQ(end, End::kAllDone);
        EXPECT_EQ(sums->cpp, 3);
        EXPECT_EQ(sums->pthreads, 2);
        EXPECT_EQ(sums->c11, -10);
        EXPECT_EQ(sums->number, 4);
      });
}

// Undoing the announced stores undoes the locks: no part of their state lies anywhere else, and no byte changes before
// it was announced.
TEST(Threads, UndoingMemoryUndoesTheLocks) {
  struct State {
    subject::Counter counter;
    subject::Queue queue;
    subject::Condition condition;
    subject::Readers readers;
    subject::Once once;
    subject::Barrier barrier;
    subject::Semaphore semaphore;
    std::atomic<int> flag;
  };
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const auto state = std::make_unique<State>();
    pthread_spin_init(&state->counter.spin, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&state->counter.c11, mtx_plain);
    subject::make_barrier(&state->barrier, 2);
    subject::make_semaphore(&state->semaphore);
    std::vector<uint8_t> before(sizeof *state);
    memcpy(before.data(), state.get(), before.size());
    uint64_t begin = 0, end = 0;
    powercut_futex_queue(&begin, &end);
    ToyScheduler scheduler(seed);
    const auto all = [&] {
      subject::add_under_mutex(&state->counter);
      subject::add_under_spin_lock(&state->counter);
      subject::add_under_c11_mutex(&state->counter);
      subject::read_shared(&state->readers);
      subject::write_alone(&state->readers);
      subject::call_each_once(&state->once);
      subject::meet_twice(&state->barrier, 2);
    };
    const End how = scheduler.run({[&] {
                                     all();
                                     subject::produce(&state->queue, 2);
                                     subject::post(&state->semaphore, 1);
                                     subject::wait_for_signal(&state->condition, 1);  // for ever, in some orders
                                     subject::set_and_notify(&state->flag);
                                   },
                                   [&] {
                                     all();
                                     subject::consume(&state->queue, 2);
                                     subject::take(&state->semaphore, 1);
                                     subject::signal(&state->condition);
                                     subject::wait_until_set(&state->flag);
                                   }});
    EXPECT_NE(how, End::kEndless);
    EXPECT_NE(memcmp(before.data(), state.get(), before.size()), 0);
    scheduler.undo();
    EXPECT_EQ(memcmp(before.data(), state.get(), before.size()), 0);
    for (uint64_t at = begin; at < end; at += 8) EXPECT_EQ(*reinterpret_cast<uint64_t*>(at), 0u);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace powercut
