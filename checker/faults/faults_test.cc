// A poisoned block ends an execution, or reaches the target's own handler; loads of unwritten bytes are found.
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>

#include "checker/faults/media_error.h"
#include "checker/faults/unwritten_loads.h"
#include "replayer/executor/test_hooks.h"
#include "tracer/world/refused_allocation.h"

namespace powercut {
namespace {

using testing::load;
using testing::store;

constexpr uint64_t kPool = 1 << 16;
constexpr MemoryRange kBlock{kPoolBase + 512, kPoolBase + 768};

class FaultsTest : public ::testing::Test {
 protected:
  Outcome run(const std::function<void()>& body) {
    Decisions decisions;
    return executor_.run(&decisions, body);
  }
  Executor executor_{{.pool_size = kPool, .step_budget = 1000, .globals = {}}};
};

TEST_F(FaultsTest, ALoadOfPoisonIsASigbusAtItsAddress) {
  MediaError media;
  media.poison(kBlock);
  const Outcome outcome = run([] { (void)load<uint64_t>(600); });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kSignal);
  EXPECT_EQ(outcome.signal, SIGBUS);
  EXPECT_EQ(outcome.address, kPoolBase + 600);
  EXPECT_EQ(media.hits(), 1u);
}

TEST_F(FaultsTest, NeighboursAndStoresAreNotAffected) {
  MediaError media;
  media.poison(kBlock);
  EXPECT_TRUE(run([] {
                (void)load<uint64_t>(504);
                (void)load<uint64_t>(768);
                store<uint64_t>(520, 1);
              }).returned());
  EXPECT_EQ(media.hits(), 0u);
  EXPECT_FALSE(run([] { (void)load<uint32_t>(509); }).returned());  // one byte of it is poisoned
  media.heal();
  EXPECT_TRUE(run([] { (void)load<uint64_t>(600); }).returned());
}

sigjmp_buf survive;

TEST_F(FaultsTest, AHandlerOfTheTargetSurvives) {
  MediaError media;
  media.poison(kBlock);
  static bool survived;
  survived = false;
  const Outcome outcome = run([] {
    struct sigaction mine{};
    mine.sa_handler = [](int) { siglongjmp(survive, 1); };
    sigaction(SIGBUS, &mine, nullptr);
    if (sigsetjmp(survive, 1) != 0) {
      survived = true;
      return;
    }
    (void)load<uint64_t>(600);
  });
  EXPECT_TRUE(outcome.returned());
  EXPECT_TRUE(survived);
  EXPECT_EQ(media.hits(), 1u);
  media.heal();
  media.poison(kBlock);
  EXPECT_EQ(run([] { (void)load<uint64_t>(600); }).signal, SIGBUS) << "heal() puts the executor's handler back";
}

TEST_F(FaultsTest, AHandlerThatReturnsMeetsThePoisonAgain) {
  MediaError media;
  media.poison(kBlock);
  const Outcome outcome = run([] {
    struct sigaction mine{};
    mine.sa_handler = [](int) {};
    sigaction(SIGBUS, &mine, nullptr);
    (void)load<uint64_t>(600);
  });
  EXPECT_EQ(outcome.signal, SIGBUS);
}

TEST_F(FaultsTest, UnwrittenLoadsAreKeptByLine) {
  UnwrittenLoads loads({kPoolBase, kPoolBase + kPool});
  run([] {
    store<uint64_t>(64, 1);
    (void)load<uint64_t>(64);
    (void)load<uint64_t>(68);  // its upper half was never stored to
    (void)load<uint8_t>(130);
  });
  ASSERT_EQ(loads.lines().size(), 2u);
  EXPECT_EQ(loads.lines().at(1).mask, uint64_t{0xf00});
  EXPECT_EQ(loads.lines().at(2).mask, uint64_t{4});
}

TEST_F(FaultsTest, WhatIsUndoneWasNotStored) {
  UnwrittenLoads loads({kPoolBase, kPoolBase + kPool});
  loads.begin_undone();
  run([] {
    store<uint64_t>(64, 1);
    (void)load<uint64_t>(64);
  });
  loads.end_undone();
  EXPECT_TRUE(loads.lines().empty());
  run([] { (void)load<uint64_t>(64); });
  EXPECT_EQ(loads.lines().at(1).mask, uint64_t{0xff});
}

TEST_F(FaultsTest, TheChosenAllocationFailsAndNoOther) {
  allocation_fault = {};
  allocation_fault.fail_at = 2;
  static void* got[3];
  static int refused;
  run([] {
    for (void*& block : got) block = malloc(24);
    refused = powercut_refuse_allocation(64);
  });
  EXPECT_NE(got[0], nullptr);
  EXPECT_EQ(got[1], nullptr);
  EXPECT_NE(got[2], nullptr);
  EXPECT_EQ(refused, 0);
  EXPECT_TRUE(allocation_fault.failed);
  EXPECT_EQ(allocation_fault.size, 24u);
  EXPECT_EQ(allocation_fault.count, 4u);
  allocation_fault = {};
  EXPECT_EQ(powercut_refuse_allocation(64), 0) << "the engine's own allocations are not counted";
  EXPECT_EQ(allocation_fault.count, 0u);
}

}  // namespace
}  // namespace powercut
