// Where the power may fail inside recovery.
#include "replayer/undecided/nested_cuts.h"

#include <gtest/gtest.h>

#include <array>

#include "replayer/media/memory/memory.h"

namespace powercut {
namespace {

class NestedCutsTest : public ::testing::Test {
 protected:
  // The number of stores that recovery has made at each crash point, over this course of events.
  template <typename Course>
  static std::vector<uint64_t> crash_points(const Persistency& persistency, const Course& course) {
    NestedCuts cuts(AtomPolicy::kAny, persistency);
    std::vector<uint64_t> out;
    course(&cuts, [&] { out.push_back(cuts.cut({}).stores_seen); });
    return out;
  }
  static void store(NestedCuts* cuts, uint64_t offset, NestedCuts::AtCrashPoint at, StoreTraits traits = {}) {
    const std::array<uint8_t, 8> bytes{1, 2, 3, 4, 5, 6, 7, 8};
    cuts->store(traits, offset, bytes, {}, at);
  }
};

TEST_F(NestedCutsTest, UnderAdrBeforeWhatMakesAStoreDurable) {
  const auto course = [](NestedCuts* cuts, NestedCuts::AtCrashPoint at) {
    cuts->fence(at);  // nothing is pending
    store(cuts, 0, at);
    cuts->fence(at);  // not flushed
    cuts->flush(0, FlushKind::kClwb, at);
    cuts->fence(at);
    store(cuts, 64, at);
    cuts->flush(64, FlushKind::kClflush, at);
    cuts->flush(64, FlushKind::kClflush, at);  // durable by now
    cuts->fence(at);
  };
  EXPECT_EQ(crash_points(adr(), course), (std::vector<uint64_t>{1, 2}));
}

TEST_F(NestedCutsTest, UnderEadrAfterEachStore) {
  const auto course = [](NestedCuts* cuts, NestedCuts::AtCrashPoint at) {
    store(cuts, 0, at);
    cuts->flush(0, FlushKind::kClwb, at);
    cuts->fence(at);
    store(cuts, 8, at);
  };
  EXPECT_EQ(crash_points(eadr(), course), (std::vector<uint64_t>{1, 2}));
}

TEST_F(NestedCutsTest, UnderEadrTheStoreBeforeTheLastIsDurable) {
  NestedCuts cuts(AtomPolicy::kAny, eadr());
  const auto nowhere = [] {};
  store(&cuts, 0, nowhere);
  store(&cuts, 8, nowhere);
  const Cut cut = cuts.cut({});
  const Content zero{};
  const CandidateSet set = candidates(*cut.stores.find(0), {&zero, 1}, AtomPolicy::kAny, kNestedCandidateLimit);
  EXPECT_EQ(set.contents.size(), 2u) << "with and without the last one";
  for (const Content& content : set.contents) EXPECT_EQ(content.bytes[0], 1);
}

TEST_F(NestedCutsTest, AfterRecoveryThereIsACutWhereItHasStored) {
  NestedCuts cuts(AtomPolicy::kAny, adr());
  EXPECT_FALSE(cuts.cut_after({}));
  store(&cuts, 0, [] {});
  const std::optional<Cut> after = cuts.cut_after({});
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->after_return);
  EXPECT_EQ(after->stores_seen, 1u);
}

TEST_F(NestedCutsTest, AllIsDurableWhenEveryStoreWasFlushedAndFenced) {
  NestedCuts cuts(AtomPolicy::kAny, adr()), at_once(AtomPolicy::kAny, eadr());
  const auto nowhere = [] {};
  EXPECT_TRUE(cuts.all_durable());
  store(&cuts, 0, nowhere);
  store(&cuts, 64, nowhere);
  EXPECT_FALSE(cuts.all_durable());
  cuts.flush(0, FlushKind::kClwb, nowhere);
  cuts.fence(nowhere);
  EXPECT_FALSE(cuts.all_durable()) << "nobody has flushed the other line";
  cuts.flush(64, FlushKind::kClflush, nowhere);
  EXPECT_TRUE(cuts.all_durable());
  store(&cuts, 0, nowhere);
  EXPECT_FALSE(cuts.all_durable());
  store(&at_once, 0, nowhere);
  EXPECT_TRUE(at_once.all_durable());
}

}  // namespace
}  // namespace powercut
