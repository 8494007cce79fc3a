// Tests that the log lists the lines and words that an execution has loaded, each once.
#include <gtest/gtest.h>

#include "replayer/executor/executor_fixture.h"

namespace powercut {
namespace {

using testing::load;
using testing::load_from;

class ReadLogTest : public testing::ExecutorFixture {};

TEST_F(ReadLogTest, ReadSetsHoldWhatWasReadOnce) {
  const UndecidedMemory::Mark start = executor_.memory().mark();
  uint64_t* kept = nullptr;
  run([&kept] { kept = static_cast<uint64_t*>(malloc(32)); });
  const UndecidedMemory::Mark leaf = executor_.memory().mark();
  executor_.reads().begin(leaf.arena);
  run([kept] {
    load<uint64_t>(64 * 5);
    load<uint64_t>(64 * 5 + 8);
    load<uint64_t>(64 * 9 + 60);  // and line 10
    load_from(kept + 1);
    load_from(kept + 1);
    load_from(static_cast<uint64_t*>(malloc(8)));  // its own
  });
  EXPECT_EQ(executor_.reads().lines(), (std::vector<uint64_t>{5, 9, 10}));
  EXPECT_EQ(executor_.reads().words(), (std::vector<uint64_t>{reinterpret_cast<uint64_t>(kept + 1)}));
  EXPECT_TRUE(executor_.reads().ever(9));
  EXPECT_FALSE(executor_.reads().ever(11));
  executor_.memory().undo(start);
}

}  // namespace
}  // namespace powercut
