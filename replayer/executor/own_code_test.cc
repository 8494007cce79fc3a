// A fault in the engine's own executable is a failure of the harness: the process dies of it, and no target is
// accused. (Target code that faults: target_runner_test.cc.)
#include <gtest/gtest.h>

#include "replayer/executor/executor.h"

namespace powercut {
namespace {

void touch_nothing() { *static_cast<volatile uint64_t*>(nullptr) = 1; }

// The executable here is this test program, with the code of its lambdas.
Outcome fault(MemoryRange own_code) {
  Executor executor({.pool_size = 65536, .step_budget = 1000, .globals = {}, .own_code = own_code});
  Decisions decisions;
  return executor.run(&decisions, touch_nothing);
}

TEST(OwnCode, HoldsTheCodeOfThisProgramAndOfNoLibrary) {
  EXPECT_TRUE(executable_code().holds(reinterpret_cast<uint64_t>(&touch_nothing), 1));
  EXPECT_FALSE(executable_code().holds(reinterpret_cast<uint64_t>(&powercut_stack_range), 1));
}

TEST(OwnCodeDeathTest, AFaultOfTheEngineIsNoOutcome) {
  EXPECT_EXIT(fault(executable_code()), ::testing::KilledBySignal(SIGSEGV), "");
}

TEST(OwnCode, AFaultElsewhereIsTheTargets) {
  const Outcome outcome = fault({});
  EXPECT_EQ(outcome.kind, Outcome::Kind::kSignal);
  EXPECT_EQ(outcome.signal, SIGSEGV);
  EXPECT_FALSE(outcome.stack.empty()) << "the executor, its pool and its heap are gone; the outcome is not";
}

}  // namespace
}  // namespace powercut
