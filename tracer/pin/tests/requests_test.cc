#include "tracer/pin/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "powercut/mark.h"
#include "tracer/pin/tests/program.h"

namespace powercut::pin {
namespace {

using testing::ElementsAre;

class MarksTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(recorder_.open(path_.c_str())); }
  uint64_t request(uint64_t number, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0) {
    const uint64_t arguments[6] = {number, a, b, c, d, e};
    const auto at = reinterpret_cast<uint64_t>(arguments);
    EXPECT_TRUE(is_mark(kOwnProcess, at));
    return answer_mark(recorder_, pools_, 0, at, Frames{nullptr, 0});
  }
  static uint64_t at(const void* memory) { return reinterpret_cast<uint64_t>(memory); }
  std::vector<std::string> lines(uint64_t base = 0) {
    recorder_.end(kPowercutExited, 0);
    return lines_of(path_, base);
  }

  Folder folder_;
  const std::string path_ = folder_.file("stream");
  Recorder recorder_{kOwnProcess, 1000};
  PoolFiles pools_{recorder_, false};
};

TEST_F(MarksTest, OperationsHaveTheirKeysValuesAndAnswers) {
  EXPECT_EQ(request(POWERCUT_MARK_ACTIVE), 1u);
  request(POWERCUT_MARK_BEGIN, POWERCUT_MARK_INSERT, at("key"), 3, at("value"), 5);
  request(POWERCUT_MARK_END, 0, 0, 0);
  request(POWERCUT_MARK_BEGIN, POWERCUT_MARK_LOOKUP, at("key"), 3, 0, 0);
  request(POWERCUT_MARK_END, 2, at("value"), 5);
  request(POWERCUT_MARK_BEGIN, POWERCUT_MARK_MAINTAIN, 0, 0, at("grow"), 4);
  EXPECT_THAT(lines(), ElementsAre("start 0", "begin 0 3 6b6579=76616c7565 ", "done 0 0 ",
                                   "begin 0 6 6b6579= ", "done 0 2 76616c7565", "begin 0 7 = grow", "exit 0"));
}

TEST_F(MarksTest, PlacesPhasesAndCuts) {
  request(POWERCUT_MARK_POINT, at("here"));
  request(POWERCUT_MARK_POINT, 0);
  request(POWERCUT_MARK_PHASE, 1, at("main"));
  request(POWERCUT_MARK_CUT);
  EXPECT_THAT(lines(), ElementsAre("start 0", "marker here", "marker ", "phase 1 main", "cut", "exit 0"));
}

TEST_F(MarksTest, APoolCanBeAnyMemory) {
  alignas(64) static uint8_t memory[64];
  request(POWERCUT_MARK_POOL, at(memory), sizeof memory);
  EXPECT_TRUE(recorder_.touches_pools(at(memory), 1));
}

TEST_F(MarksTest, AKindThatIsNoneIsSaidAndNotWritten) {
  request(POWERCUT_MARK_BEGIN, 9, 0, 0, 0, 0);
  EXPECT_THAT(lines(), ElementsAre("note 4 powercut_mark_begin with an unknown kind of operation: it was not recorded",
                                   "exit 0"));
}

TEST_F(MarksTest, RequestsOfOtherToolsAndBadPointersAreNotOurs) {
  const uint64_t memcheck[6] = {'M' << 24 | 'C' << 16};
  EXPECT_FALSE(is_mark(kOwnProcess, at(memcheck)));
  EXPECT_FALSE(is_mark(kOwnProcess, 16));
  // A key that cannot be read is cut off at its last readable byte.
  request(POWERCUT_MARK_BEGIN, POWERCUT_MARK_ERASE, 16, 8, 0, 0);
  EXPECT_THAT(lines(), ElementsAre("start 0", "begin 0 5 = ", "exit 0"));
}

}  // namespace
}  // namespace powercut::pin
