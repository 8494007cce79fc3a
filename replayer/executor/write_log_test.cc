// Tests of the stores of an execution, as far as other executions can tell.
#include "replayer/executor/executor_fixture.h"

namespace powercut {
namespace {

using testing::load;
using testing::store;
using testing::store_to;
using testing::target_global;

class WriteLogTest : public testing::ExecutorFixture {
 protected:
  WriteSet written(const std::function<void()>& body) {
    const UndecidedMemory::Mark start = executor_.memory().mark();
    executor_.reads().begin(start.arena);
    executor_.writes().begin();
    run(body);
    WriteSet out = executor_.writes().left(start);
    executor_.writes().end();
    executor_.memory().undo(start);
    return out;
  }
};

TEST_F(WriteLogTest, BytesThatHoldSomethingElse) {
  const WriteSet out = written([] {
    load<uint64_t>(0);
    store<uint64_t>(0, 0x0100);
  });
  EXPECT_EQ(out.pool.at(0), 0b10u) << "the other bytes were read, and are as they were";
}

TEST_F(WriteLogTest, BytesThatWereOverwrittenUnread) {
  const WriteSet out = written([] { store<uint64_t>(64, 0); });
  EXPECT_EQ(out.pool.at(1), 0xffu) << "on an image that it cannot tell from this one they may hold something else";
}

TEST_F(WriteLogTest, NeitherItsOwnHeapNorWhatItPutsBack) {
  const WriteSet out = written([] {
    store_to(static_cast<uint64_t*>(malloc(8)), uint64_t{1});
    load<uint64_t>(0);
    store<uint64_t>(0, 7);
    store<uint64_t>(0, 0);
    store_to(&target_global, uint64_t{5});
  });
  EXPECT_TRUE(out.empty());
  EXPECT_TRUE(written([] { store_to(&target_global, uint64_t{6}); }).globals);
}

}  // namespace
}  // namespace powercut
