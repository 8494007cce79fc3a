// A loop that never ends, and one that is long.
#include "replayer/executor/loop_watch.h"

#include <gtest/gtest.h>

#include "replayer/executor/executor.h"
#include "replayer/executor/test_hooks.h"
#include "tracer/world/virtual_world.h"

namespace powercut {
namespace {

using testing::exchange;
using testing::load;
using testing::step;
using testing::store;

class LoopWatchTest : public ::testing::Test {
 protected:
  LoopWatchTest() : executor_({.pool_size = 65536, .step_budget = 100'000, .globals = {}, .own_code = {}}) {}

  Outcome run(const std::function<void()>& body) {
    Decisions decisions;
    const UndecidedMemory::Mark start = executor_.memory().mark();
    Outcome outcome = executor_.run(&decisions, body);
    executor_.memory().undo(start);
    return outcome;
  }

  Executor executor_;
};

TEST_F(LoopWatchTest, ALockThatIsLeftHeldRepeatsItself) {
  store<uint64_t>(0, 1);
  const Outcome outcome = run([] {
    while (exchange(0, 1) != 0) step();
  });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kSteps);
  EXPECT_TRUE(executor_.runner().doubts().empty());
}

TEST_F(LoopWatchTest, ARepeatingLoopIsFoundLongBeforeTheBudget) {
  const uint64_t before = executor_.loads();
  const Outcome outcome = run([] {
    while (load<uint64_t>(0) == 0) step();
  });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kSteps);
  EXPECT_LT(executor_.loads() - before, 10'000u);
}

TEST_F(LoopWatchTest, ALongLoopEnds) {
  const Outcome outcome = run([] {
    for (volatile uint64_t i = 0; i < 90'000; i = i + 1) step();
  });
  EXPECT_TRUE(outcome.returned());
}

TEST_F(LoopWatchTest, ALoopThatCountsIsNotKnownToGoOn) {
  const Outcome outcome = run([] {
    for (volatile uint64_t i = 0;; i = i + 1) step();
  });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kUnknown);
  ASSERT_EQ(executor_.runner().doubts().size(), 1u);
  EXPECT_NE(executor_.runner().doubts()[0].find("--step-budget"), std::string::npos);
}

TEST_F(LoopWatchTest, ALoopThatCountsInThePoolIsNotKnownToGoOn) {
  EXPECT_EQ(run([] {
              for (;; step()) store<uint64_t>(128, load<uint64_t>(128) + 1);
            }).kind,
            Outcome::Kind::kUnknown);
}

// The count lies in heap that this execution has allocated, of which no old words are kept otherwise.
TEST_F(LoopWatchTest, ALoopThatCountsInItsHeapIsNotKnownToGoOn) {
  EXPECT_EQ(run([] {
              auto* count = static_cast<uint64_t*>(malloc(8));
              testing::store_to<uint64_t>(count, 0);
              for (;; step()) testing::store_to<uint64_t>(count, testing::load_from(count) + 1);
            }).kind,
            Outcome::Kind::kUnknown);
}

// Blocks at the end of the heap are given out again once they are freed, in whatever order.
TEST_F(LoopWatchTest, ALoopThatAllocatesAndFreesRepeatsItself) {
  EXPECT_EQ(run([] {
              for (;; step()) {
                void* first = malloc(100);
                void* second = aligned_alloc(64, 1000);
                testing::store_to<uint64_t>(static_cast<uint64_t*>(second), 7);
                free(first);
                free(second);
              }
            }).kind,
            Outcome::Kind::kSteps);
}

TEST_F(LoopWatchTest, ALoopThatAllocatesAndCountsInWhatItFreesIsNotKnownToGoOn) {
  EXPECT_EQ(run([] {
              for (uint64_t i = 0;; ++i, step()) {
                auto* kept = static_cast<uint64_t*>(malloc(8));
                testing::store_to<uint64_t>(kept, i);
                store<uint64_t>(64, *kept);
                free(kept);
              }
            }).kind,
            Outcome::Kind::kUnknown);
}

// The leaked memory makes each turn another state.
TEST_F(LoopWatchTest, ALoopThatLeaksIsNotKnownToGoOn) {
  EXPECT_EQ(run([] {
              for (;; step()) testing::store_to<uint64_t>(static_cast<uint64_t*>(malloc(16)), 1);
            }).kind,
            Outcome::Kind::kUnknown);
}

TEST_F(LoopWatchTest, WhoWaitsForAWordSaysForWhich) {
  store<uint64_t>(192, 1);
  const Outcome outcome = run([] {
    (void)load<uint64_t>(64);
    while (load<uint64_t>(192) != 0) step();
  });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kSteps);
  EXPECT_EQ(outcome.text, "it waits for the word at offset 192 of the pool, which nobody will change");
}

// A cycle of many steps: a list in the pool whose end points to its beginning.
TEST_F(LoopWatchTest, AListWithoutEndRepeatsItself) {
  for (uint64_t i = 0; i < 50; ++i) store<uint64_t>(i * 64, (i + 1) % 50 * 64);
  const Outcome outcome = run([] {
    for (uint64_t at = 0;; at = load<uint64_t>(at)) step();
  });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kSteps);
  EXPECT_EQ(outcome.text, "") << "it waits for no single word";
}

TEST_F(LoopWatchTest, SleepingIsNoChangeAndTheClockIs) {
  const Outcome slept = run([] {
    for (;; step()) {
      const timespec time{0, 1000};
      nanosleep(&time, nullptr);
    }
  });
  EXPECT_EQ(slept.kind, Outcome::Kind::kSteps);
  // Whoever waits for a moment meets it.
  const Outcome waited = run([] {
    const uint64_t begin = world_nanoseconds();
    for (; world_nanoseconds() - begin < 60'000'000'000; step()) {
    }
  });
  EXPECT_TRUE(waited.returned());
}

}  // namespace
}  // namespace powercut
