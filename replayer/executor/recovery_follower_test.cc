// A recovery's steps, the cuts among them, and edits of its code.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "replayer/executor/executor_fixture.h"

namespace powercut {
namespace {

using testing::content;
using testing::exchange;
using testing::fence;
using testing::flush;
using testing::line_set;
using testing::load;
using testing::store;

class RecoveryFollowerTest : public testing::ExecutorFixture {};

std::set<std::array<uint8_t, kLineSize>> contents_of(const std::vector<LineSet>& lines, uint64_t line) {
  std::set<std::array<uint8_t, kLineSize>> out;
  for (const LineSet& set : lines) {
    if (set.line != line) continue;
    for (const Content& content : set.contents) out.insert(content.bytes);
  }
  return out;
}

std::set<std::array<uint8_t, kLineSize>> words(std::initializer_list<std::initializer_list<uint64_t>> contents) {
  std::set<std::array<uint8_t, kLineSize>> out;
  for (const auto& each : contents) out.insert(content(each).bytes);
  return out;
}

TEST_F(RecoveryFollowerTest, ACutBeforeEachFenceThatRaisesAFloor) {
  Decisions decisions;
  std::vector<Cut> cuts;
  const UndecidedMemory::Mark start = executor_.memory().mark();
  executor_.memory().install({});
  executor_.run_recovery(&decisions, &cuts, [] {
    fence();  // nothing to make durable
    store<uint64_t>(0, 1);
    fence();  // not flushed
    flush(0);
    store<uint64_t>(64, 2);
    fence();
    flush(64, POWERCUT_CLFLUSH);
    store<uint64_t>(128, 3);
  });
  ASSERT_EQ(cuts.size(), 2u);
  EXPECT_EQ(cuts[0].stores_seen, 2u);
  const auto after = executor_.recovery().cut_after();
  ASSERT_TRUE(after);
  EXPECT_TRUE(after->after_return);
  EXPECT_EQ(after->stores_seen, 3u);
  executor_.memory().undo(start);

  const std::vector<LineSet> first = executor_.memory().child(cuts[0]);
  EXPECT_EQ(contents_of(first, 0), words({{}, {1}}));
  EXPECT_EQ(contents_of(first, 1), words({{}, {2}}));
  EXPECT_TRUE(contents_of(first, 2).empty());
  const std::vector<LineSet> second = executor_.memory().child(cuts[1]);
  EXPECT_EQ(contents_of(second, 0), words({{1}}));
  EXPECT_EQ(contents_of(second, 1), words({{}, {2}}));
  const std::vector<LineSet> last = executor_.memory().child(*after);
  EXPECT_EQ(contents_of(last, 1), words({{2}}));
  EXPECT_EQ(contents_of(last, 2), words({{}, {3}}));
  executor_.memory().uninstall();
}

TEST_F(RecoveryFollowerTest, TheMediumBelowASecondCutIsWhatTheFirstOneLeft) {
  const LineSet set = line_set(0, {content({1, 10}), content({2, 20}), content({2, 30})});
  Decisions decisions;
  std::vector<Cut> cuts;
  executor_.memory().install({&set});
  const UndecidedMemory::Mark start = executor_.memory().mark();
  const auto body = [] {
    if (load<uint64_t>(0) == 2) store<uint64_t>(16, 5);
  };
  executor_.run_recovery(&decisions, &cuts, body);
  EXPECT_FALSE(executor_.recovery().cut_after()) << "it stored nothing";
  executor_.memory().undo(start);
  ASSERT_TRUE(decisions.advance());
  executor_.run_recovery(&decisions, &cuts, body);
  const auto cut = executor_.recovery().cut_after();
  executor_.memory().undo(start);
  ASSERT_TRUE(cut);
  // Recovery saw 2: the content with 1 is out. Recovery's store may have persisted on either of the other contents.
  const std::vector<LineSet> child = executor_.memory().child(*cut);
  EXPECT_EQ(contents_of(child, 0), words({{2, 20}, {2, 30}, {2, 20, 5}, {2, 30, 5}}));
  for (size_t i = 0; i < child[0].contents.size(); ++i) {
    EXPECT_EQ(child[0].contents[i].bytes[8], set.contents[child[0].base[i]].bytes[8]) << "names the wrong base";
  }
  executor_.memory().uninstall();
}

TEST_F(RecoveryFollowerTest, ALineThatRecoveryDidNotReadStaysAsOpen) {
  const LineSet set = line_set(0, {content({1}), content({2})});
  Decisions decisions;
  executor_.memory().install({&set});
  const UndecidedMemory::Mark start = executor_.memory().mark();
  executor_.run_recovery(&decisions, nullptr, [] { store<uint64_t>(64, 1); });
  const auto cut = executor_.recovery().cut_after();
  executor_.memory().undo(start);
  const std::vector<LineSet> child = executor_.memory().child(*cut);
  executor_.memory().install({&child[0]});
  EXPECT_TRUE(contents_of(child, 0).empty()) << "the cut does not name it";
  EXPECT_EQ(executor_.memory().contents(0), set.contents) << "it is as the first cut left it";
  executor_.memory().uninstall();
  executor_.memory().uninstall();
}

TEST_F(RecoveryFollowerTest, CutsOfPathsAlreadyTakenAreNotRepeated) {
  const LineSet set = line_set(1, {content({1}), content({2})});
  Decisions decisions;
  std::vector<Cut> cuts;
  executor_.memory().install({&set});
  const UndecidedMemory::Mark start = executor_.memory().mark();
  const auto body = [] {
    store<uint64_t>(0, 1);
    flush(0);
    fence();  // the same for both contents: one cut
    load<uint64_t>(64);
    store<uint64_t>(8, 1);
    flush(8);
    fence();  // one cut each
  };
  executor_.run_recovery(&decisions, &cuts, body);
  executor_.memory().undo(start);
  EXPECT_EQ(cuts.size(), 2u);
  ASSERT_TRUE(decisions.advance());
  executor_.run_recovery(&decisions, &cuts, body);
  executor_.memory().undo(start);
  EXPECT_EQ(cuts.size(), 3u);
  EXPECT_FALSE(decisions.advance());
  executor_.memory().uninstall();
}

TEST_F(RecoveryFollowerTest, ALockedInstructionOfRecoveryFencesFirst) {
  Decisions decisions;
  std::vector<Cut> cuts;
  executor_.memory().install({});
  const UndecidedMemory::Mark start = executor_.memory().mark();
  executor_.run_recovery(&decisions, &cuts, [] {
    store<uint64_t>(0, 1);
    flush(0);
    exchange(64, 2);
  });
  const auto last = executor_.recovery().cut_after();
  executor_.memory().undo(start);
  ASSERT_EQ(cuts.size(), 1u);
  EXPECT_EQ(cuts[0].stores_seen, 1u);
  EXPECT_EQ(contents_of(executor_.memory().child(*last), 0), words({{1}}));
  EXPECT_EQ(contents_of(executor_.memory().child(*last), 1), words({{}, {2}}));
  executor_.memory().uninstall();
}

TEST_F(RecoveryFollowerTest, TheLeafOfARecoveryIsWhatItLoaded) {
  const LineSet set = line_set(0, {content({1, 7}), content({2, 7})});
  executor_.memory().install({&set});
  const auto leaves = [&](const std::function<void()>& body) {
    Decisions decisions;
    std::set<uint64_t> out;
    const UndecidedMemory::Mark start = executor_.memory().mark();
    do {
      executor_.run_recovery(&decisions, nullptr, body);
      executor_.memory().undo(start);
      out.insert(executor_.recovery().path());
    } while (decisions.advance());
    return out;
  };
  const auto first = leaves([] { load<uint64_t>(0); });
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(leaves([] { load<uint64_t>(0); }), first);
  EXPECT_EQ(leaves([] { load<uint64_t>(8); }).size(), 1u);
  EXPECT_NE(leaves([] { load<uint64_t>(16); }), leaves([] { load<uint64_t>(24); })) << "equal values, other addresses";
  executor_.memory().uninstall();
}

class EditedExecutorTest : public ::testing::Test {
 protected:
  using Left = decltype(contents_of({}, 0));
  // Returns the contents of line 0 that recovery may leave after its return, under `edits`.
  static Left after_return(std::vector<CodeEdit> edits, const std::function<void()>& body,
                           size_t* cuts_inside = nullptr) {
    Executor executor(
        {.pool_size = 65536, .step_budget = 1000, .globals = {}, .own_code = {}, .edits = std::move(edits)});
    Decisions decisions;
    std::vector<Cut> cuts;
    executor.memory().install({});
    const UndecidedMemory::Mark start = executor.memory().mark();
    executor.run_recovery(&decisions, &cuts, body);
    const auto last = executor.recovery().cut_after();
    executor.memory().undo(start);
    if (cuts_inside != nullptr) *cuts_inside = cuts.size();
    Left out = contents_of(executor.memory().child(*last), 0);
    executor.memory().uninstall();
    return out;
  }

  // The innermost frames of the flush and the fence that `body` makes, and of its store.
  struct Places {
    std::vector<uint64_t> store, flush, fence;
  };
  static Places places_of(const std::function<void()>& body) {
    Executor executor({.pool_size = 65536, .step_budget = 1000, .globals = {}, .own_code = {}, .list_sites = true});
    Decisions decisions;
    std::vector<Cut> cuts;
    executor.memory().install({});
    const UndecidedMemory::Mark start = executor.memory().mark();
    executor.run_recovery(&decisions, &cuts, body);
    Places out{executor.recovery().stores().front().stack, {}, {}};
    for (const auto& [site, count] : executor.recovery().sites()) (site.fence ? out.fence : out.flush) = site.stack;
    executor.memory().undo(start);
    executor.memory().uninstall();
    return out;
  }
};

TEST_F(EditedExecutorTest, FlushesAndFencesAreDroppedAndAdded) {
  const auto body = [] {
    store<uint64_t>(0, 1);
    flush(0);
    fence();
  };
  const Places places = places_of(body);
  ASSERT_FALSE(places.store.empty() || places.flush.empty() || places.fence.empty());
  const auto first = [](const std::vector<uint64_t>& stack) { return std::vector<uint64_t>{stack[0]}; };
  const CodeEdit no_flush{first(places.flush), true, false, false};
  const CodeEdit no_fence{first(places.fence), true, false, false};
  const CodeEdit after_store{first(places.store), false, true, true};
  const Left durable = words({{1}}), open = words({{}, {1}});
  size_t cuts = 0;
  EXPECT_EQ(after_return({}, body, &cuts), durable);
  EXPECT_EQ(cuts, 1u);
  EXPECT_EQ(after_return({no_flush}, body, &cuts), open);
  EXPECT_EQ(cuts, 0u) << "the fence makes nothing durable any more";
  EXPECT_EQ(after_return({no_fence}, body), open);
  EXPECT_EQ(after_return({no_flush, no_fence, after_store}, body, &cuts), durable);
  EXPECT_EQ(cuts, 1u) << "the fence that is put in is a crash point";
  CodeEdit elsewhere = no_flush;
  elsewhere.stack.push_back(1);
  EXPECT_EQ(after_return({elsewhere}, body), durable) << "called from elsewhere";
}

// Hears of the step behind each fence, and ends the execution at step number `last`.
struct BehindFences final : PathListener {
  explicit BehindFences(size_t last) : last(last) {}
  void store(uint64_t offset, std::span<const uint8_t>, uint32_t, CodePlace) override { seen.push_back(offset); }
  bool behind_fence(LiveState live) override {
    EXPECT_NE(live.pc(), nullptr);
    seen.push_back(~uint64_t{0});
    return ++steps != last;
  }
  size_t last, steps = 0;
  std::vector<uint64_t> seen;
};

TEST_F(RecoveryFollowerTest, TheStepBehindAFenceIsToldOfAndMayBeTheLast) {
  const auto body = [] {
    testing::step();
    store<uint64_t>(0, 1);
    fence();
    fence();  // one step behind both
    store<uint64_t>(64, 1);
    testing::step();
    testing::step();
    (void)exchange(128, 1);  // a fence, too
    testing::step();
    store<uint64_t>(192, 1);
    fence();
  };
  constexpr uint64_t kStep = ~uint64_t{0};
  for (const size_t last : {size_t{0}, size_t{2}}) {
    BehindFences listener(last);
    const UndecidedMemory::Mark start = executor_.memory().mark();
    EXPECT_TRUE(executor_.run_listened(&listener, body).returned());
    executor_.memory().undo(start);
    std::vector<uint64_t> expected = {0, 64, kStep, 128, kStep, 192};
    if (last == 2) expected.pop_back();
    EXPECT_EQ(listener.seen, expected);
  }
}

TEST_F(RecoveryFollowerTest, StepsBehindFencesCountAsSteps) {
  BehindFences listener(0);
  const UndecidedMemory::Mark start = executor_.memory().mark();
  uint64_t turns = 0;
  const Outcome outcome = executor_.run_listened(&listener, [&turns] {
    for (;; ++turns) {
      store<uint64_t>(0, turns);
      fence();
      testing::step();
    }
  });
  executor_.memory().undo(start);
  EXPECT_EQ(outcome.kind, Outcome::Kind::kUnknown) << "the step budget is spent";
  EXPECT_GE(turns, executor_.options().step_budget);
}

}  // namespace
}  // namespace powercut
