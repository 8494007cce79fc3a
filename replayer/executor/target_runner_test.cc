// Executions end as outcomes, whatever target code does.
#include <gtest/gtest.h>

#include <stdexcept>

#include "replayer/executor/executor_fixture.h"

namespace powercut {
namespace {

using testing::content;
using testing::line_set;
using testing::load;
using testing::step;
using testing::store;
using testing::store_to;
using testing::target_global;

class TargetRunnerTest : public testing::ExecutorFixture {};

uint64_t foreign_global = 6;

TEST_F(TargetRunnerTest, TheHeapOfAnExecutionIsDropped) {
  const UndecidedMemory::Mark start = executor_.memory().mark();
  uint64_t* first = nullptr;
  run([&first] {
    first = static_cast<uint64_t*>(malloc(64));
    std::memset(first, 0xee, 64);
  });
  executor_.memory().undo(start);
  uint64_t* second = nullptr;
  uint64_t left_over = 1;
  run([&] {
    second = static_cast<uint64_t*>(malloc(64));
    left_over = *second;
  });
  EXPECT_EQ(second, first) << "addresses differ from run to run";
  EXPECT_EQ(left_over, 0u);
  executor_.memory().undo(start);
}

TEST_F(TargetRunnerTest, AWildStoreIsStoppedBeforeItHappens) {
  const Outcome outcome = run([] { store_to(&foreign_global, uint64_t{1}); });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kWildStore);
  EXPECT_EQ(outcome.address, reinterpret_cast<uint64_t>(&foreign_global));
  EXPECT_FALSE(outcome.stack.empty());
  EXPECT_EQ(foreign_global, 6u);
}

TEST_F(TargetRunnerTest, StoresToTheOwnStackAndGlobalsAreNotWild) {
  const UndecidedMemory::Mark start = executor_.memory().mark();
  EXPECT_TRUE(run([] {
                uint64_t local = 0;
                store_to(&local, uint64_t{1});
                store_to(&target_global, uint64_t{2});
              }).returned());
  executor_.memory().undo(start);
}

TEST_F(TargetRunnerTest, AStoreThatEndsOutsideThePoolIsWild) {
  // The arena begins where the pool ends, and both belong to the target; a store over the edge belongs to neither.
  EXPECT_EQ(run([] { store<uint64_t>(65536 - 4, 1); }).kind, Outcome::Kind::kWildStore);
}

TEST_F(TargetRunnerTest, FaultsEndAnExecutionAndNotTheEngine) {
  const Outcome fault = run([] { *reinterpret_cast<volatile int*>(0x10) = 1; });
  EXPECT_EQ(fault.kind, Outcome::Kind::kSignal);
  EXPECT_EQ(fault.signal, SIGSEGV);
  EXPECT_EQ(fault.address, 0x10u);
  EXPECT_EQ(run([] { std::abort(); }).kind, Outcome::Kind::kAbort);
  const Outcome thrown = run([] { throw std::runtime_error("no luck"); });
  EXPECT_EQ(thrown.kind, Outcome::Kind::kException);
  EXPECT_EQ(thrown.text, "no luck");
  EXPECT_EQ(run([] { throw 3; }).kind, Outcome::Kind::kException);
  EXPECT_EQ(run([] {
              for (;;) step();
            }).kind,
            Outcome::Kind::kSteps);
  EXPECT_TRUE(run([] {}).returned());
}

TEST_F(TargetRunnerTest, TheStepBudgetIsEachExecutionsOwn) {
  const auto nine_hundred = [] {
    for (int i = 0; i < 900; ++i) step();
  };
  EXPECT_TRUE(run(nine_hundred).returned());
  EXPECT_TRUE(run(nine_hundred).returned());
}

TEST_F(TargetRunnerTest, AFaultLeavesNothingBehind) {
  const LineSet set = line_set(0, {content({1}), content({2})});
  executor_.memory().install({&set});
  const UndecidedMemory::Mark start = executor_.memory().mark();
  const uint64_t before = executor_.memory().digest();
  run([] {
    load<uint64_t>(0);
    store<uint64_t>(72, 1);
    (void)malloc(1000);
    std::abort();
  });
  executor_.memory().undo(start);
  EXPECT_EQ(executor_.memory().digest(), before);
  EXPECT_EQ(paths([] { return load<uint64_t>(0); }), (std::vector<uint64_t>{1, 2}));
  executor_.memory().uninstall();
}

}  // namespace
}  // namespace powercut
