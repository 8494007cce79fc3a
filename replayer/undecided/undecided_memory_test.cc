// Tests that bytes are decided when they are read, and that undo() takes everything back.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "replayer/executor/executor_fixture.h"

namespace powercut {
namespace {

using testing::at;
using testing::content;
using testing::exchange;
using testing::line_set;
using testing::load;
using testing::store;
using testing::store_to;
using testing::target_global;

class UndecidedMemoryTest : public testing::ExecutorFixture {};

TEST_F(UndecidedMemoryTest, AReadBranchesOverDistinctValues) {
  const LineSet set = line_set(3, {content({1, 7}), content({2, 7}), content({2, 8})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] { return load<uint64_t>(192); }), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(paths([] { return load<uint64_t>(200); }), (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(paths([] { return load<uint64_t>(208); }), (std::vector<uint64_t>{0}));  // the same in all
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, WhatWasReadFiltersWhatIsLeft) {
  const LineSet set = line_set(0, {content({1, 10}), content({2, 20}), content({2, 30})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] { return load<uint64_t>(0) * 100 + load<uint64_t>(8); }), (std::vector<uint64_t>{110, 220, 230}));
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, LinesAreDecidedIndependently) {
  const LineSet one = line_set(0, {content({1}), content({2})}), two = line_set(1, {content({10}), content({20})});
  executor_.memory().install({&one, &two});
  EXPECT_EQ(paths([] { return load<uint64_t>(0) + load<uint64_t>(64); }), (std::vector<uint64_t>{11, 21, 12, 22}));
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, AnAccessAcrossTwoLinesDecidesBoth) {
  Content low, high;
  low.bytes[63] = 1;
  high.bytes[0] = 1;
  const LineSet one = line_set(0, {Content{}, low}), two = line_set(1, {Content{}, high});
  executor_.memory().install({&one, &two});
  EXPECT_EQ(paths([] { return uint64_t{load<uint16_t>(63)}; }), (std::vector<uint64_t>{0, 0x100, 1, 0x101}));
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, AStoreHidesTheMediumBelowIt) {
  const LineSet set = line_set(0, {content({1, 10}), content({2, 20})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] {
              store<uint64_t>(0, 99);
              return load<uint64_t>(0);
            }),
            (std::vector<uint64_t>{99}));
  // The rest of the line is as undecided as before, and deciding it leaves the store in place.
  EXPECT_EQ(paths([] {
              store<uint64_t>(0, 99);
              return load<uint64_t>(8) * 100 + load<uint64_t>(0);
            }),
            (std::vector<uint64_t>{1099, 2099}));
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, ALockedInstructionReadsAndWrites) {
  const LineSet set = line_set(0, {content({1}), content({2})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] { return exchange(0, 50) * 100 + load<uint64_t>(0); }), (std::vector<uint64_t>{150, 250}));
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, UndoTakesEverythingBack) {
  store_to(reinterpret_cast<uint64_t*>(at(128)), uint64_t{3});
  const LineSet set = line_set(0, {content({1}), content({2})});
  executor_.memory().install({&set});
  const UndecidedMemory::Mark start = executor_.memory().mark();
  const uint64_t before = executor_.memory().digest();
  run([] {
    load<uint64_t>(0);
    store<uint64_t>(0, 70);
    store<uint8_t>(131, 9);
    store<uint64_t>(4093, 0x0101010101010101);  // across words and lines
    store_to(&target_global, uint64_t{77});
    auto* heap = static_cast<uint64_t*>(malloc(100));
    store_to(heap, uint64_t{8});
  });
  EXPECT_EQ(target_global, 77u);
  EXPECT_NE(executor_.memory().digest(), before);
  executor_.memory().undo(start);
  EXPECT_EQ(executor_.memory().digest(), before);
  EXPECT_EQ(target_global, 5u);
  EXPECT_EQ(paths([] { return load<uint64_t>(0); }), (std::vector<uint64_t>{1, 2}));
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, LevelsNestAndComeOffAgain) {
  const LineSet outer = line_set(0, {content({1}), content({2})});
  const LineSet inner = line_set(0, {content({3}), content({4}), content({5})});
  const LineSet fixed = line_set(0, {content({9})});
  const uint64_t before = executor_.memory().digest();
  executor_.memory().install({&outer});
  executor_.memory().install({&inner});
  EXPECT_EQ(paths([] { return load<uint64_t>(0); }), (std::vector<uint64_t>{3, 4, 5}));
  executor_.memory().install({&fixed});
  EXPECT_EQ(paths([] { return load<uint64_t>(0); }), (std::vector<uint64_t>{9}));
  executor_.memory().uninstall();
  EXPECT_EQ(paths([] { return load<uint64_t>(0); }), (std::vector<uint64_t>{3, 4, 5}));
  executor_.memory().uninstall();
  EXPECT_EQ(paths([] { return load<uint64_t>(0); }), (std::vector<uint64_t>{1, 2}));
  executor_.memory().uninstall();
  EXPECT_EQ(executor_.memory().digest(), before);
}

TEST_F(UndecidedMemoryTest, ASignatureTellsApartWhatTheBytesMayHold) {
  const auto mask_of = [](uint64_t word) { return uint64_t{0xff} << (8 * word); };
  const LineSet ab = line_set(0, {content({1, 5}), content({2, 5})});
  const LineSet abc = line_set(0, {content({1, 5}), content({2, 5}), content({3, 5})});
  const LineSet a = line_set(0, {content({1, 5})});
  std::set<std::pair<uint64_t, uint64_t>> first, second;
  for (const LineSet* set : {&ab, &abc, &a}) {
    executor_.memory().install({set});
    const Signature undecided = executor_.memory().signature(0, mask_of(0)),
                    definite = executor_.memory().signature(0, mask_of(1));
    first.emplace(undecided.low, undecided.high);
    second.emplace(definite.low, definite.high);
    const UndecidedMemory::Mark start = executor_.memory().mark();
    run([] { store<uint64_t>(16, 4); });
    EXPECT_EQ(executor_.memory().signature(0, mask_of(0)), undecided) << "other bytes";
    run([] { store<uint64_t>(0, 1); });
    EXPECT_EQ(executor_.memory().signature(0, mask_of(0)) == undecided, set == &a) << "now it is 1 for certain";
    executor_.memory().undo(start);
    EXPECT_EQ(executor_.memory().signature(0, mask_of(0)), undecided);
    executor_.memory().uninstall();
  }
  EXPECT_EQ(first.size(), 3u);
  EXPECT_EQ(second.size(), 1u) << "the same 5 in all";
}

TEST_F(UndecidedMemoryTest, ASignatureKeepsBytesTogether) {
  // Each word may be 1 or 2 in both; together they may not.
  const LineSet equal = line_set(0, {content({1, 1}), content({2, 2})});
  const LineSet crossed = line_set(0, {content({1, 2}), content({2, 1})});
  executor_.memory().install({&equal});
  const Signature one = executor_.memory().signature(0, 0xffff);
  executor_.memory().uninstall();
  executor_.memory().install({&crossed});
  EXPECT_NE(executor_.memory().signature(0, 0xffff), one);
  executor_.memory().uninstall();
}

TEST_F(UndecidedMemoryTest, WhatWasTouchedSinceAMarkIsWhatItHeldThere) {
  const LineSet set = line_set(2, {content({1}), content({2})});
  executor_.memory().install({&set});
  const UndecidedMemory::Mark start = executor_.memory().mark();
  run([] { store<uint64_t>(0, 5); });
  const UndecidedMemory::Mark later = executor_.memory().mark();
  run([] {
    store<uint64_t>(0, 6);
    store<uint64_t>(64, 7);
    store<uint64_t>(0, 8);
    (void)load<uint64_t>(128);
  });
  std::map<uint64_t, uint64_t> before;
  for (const auto& [line, held] : executor_.memory().touched_since(later)) before[line] = load_word(held.bytes.data());
  EXPECT_EQ(before, (std::map<uint64_t, uint64_t>{{0, 5}, {1, 0}, {2, 1}}));
  executor_.memory().undo(start);
  executor_.memory().uninstall();
}

}  // namespace
}  // namespace powercut
