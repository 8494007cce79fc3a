// An executor on a small pool, for tests that run code written by hand.
#ifndef POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_FIXTURE_H_
#define POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "replayer/executor/executor.h"
#include "replayer/executor/test_hooks.h"

namespace powercut::testing {

inline uint64_t target_global = 5;

class ExecutorFixture : public ::testing::Test {
 protected:
  explicit ExecutorFixture(int64_t step_budget = 1000)
      : executor_(
            {.pool_size = 65536,
             .step_budget = step_budget,
             .globals = {{reinterpret_cast<uint64_t>(&target_global), reinterpret_cast<uint64_t>(&target_global + 1)}},
             .own_code = {}}) {}

  // Runs `body` down every path; returns the results of all paths, in order.
  template <typename Body>
  std::vector<uint64_t> paths(const Body& body) {
    Decisions decisions;
    std::vector<uint64_t> out;
    const UndecidedMemory::Mark start = executor_.memory().mark();
    do {
      uint64_t seen = 0;
      const Outcome outcome = executor_.run(&decisions, [&] { seen = body(); });
      EXPECT_TRUE(outcome.returned()) << outcome.text;
      executor_.memory().undo(start);
      out.push_back(seen);
    } while (decisions.advance());
    return out;
  }

  Outcome run(const std::function<void()>& body) {
    Decisions decisions;
    return executor_.run(&decisions, body);
  }

  Executor executor_;
};

}  // namespace powercut::testing
#endif  // POWERCUT_REPLAYER_EXECUTOR_EXECUTOR_FIXTURE_H_
