// What the executor does around target code: deciding bytes, taking everything back, ending what goes wrong.
#include "replayer/executor/executor.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "replayer/executor/test_hooks.h"

namespace powercut {
namespace {

using testing::at;
using testing::content;
using testing::exchange;
using testing::fence;
using testing::flush;
using testing::line_set;
using testing::load;
using testing::load_from;
using testing::step;
using testing::store;
using testing::store_to;

uint64_t target_global = 5;
uint64_t foreign_global = 6;

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest()
      : executor_(
            {.pool_size = 65536,
             .step_budget = 1000,
             .globals = {{reinterpret_cast<uint64_t>(&target_global), reinterpret_cast<uint64_t>(&target_global + 1)}},
             .own_code = {}}) {}

  // Runs `body` down every path; returns what each left in `seen`, in order.
  template <typename Body>
  std::vector<uint64_t> paths(const Body& body) {
    Decisions decisions;
    std::vector<uint64_t> out;
    const UndecidedMemory::Mark start = executor_.memory().mark();
    do {
      uint64_t seen = 0;
      const Outcome outcome = executor_.run(&decisions, [&] { seen = body(); });
      EXPECT_TRUE(outcome.returned());
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

TEST_F(ExecutorTest, AReadBranchesOverDistinctValues) {
  const LineSet set = line_set(3, {content({1, 7}), content({2, 7}), content({2, 8})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] { return load<uint64_t>(192); }), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(paths([] { return load<uint64_t>(200); }), (std::vector<uint64_t>{7, 8}));
  EXPECT_EQ(paths([] { return load<uint64_t>(208); }), (std::vector<uint64_t>{0}));  // the same in all
  executor_.memory().uninstall();
}

TEST_F(ExecutorTest, WhatWasReadFiltersWhatIsLeft) {
  const LineSet set = line_set(0, {content({1, 10}), content({2, 20}), content({2, 30})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] { return load<uint64_t>(0) * 100 + load<uint64_t>(8); }), (std::vector<uint64_t>{110, 220, 230}));
  executor_.memory().uninstall();
}

TEST_F(ExecutorTest, LinesAreDecidedIndependently) {
  const LineSet one = line_set(0, {content({1}), content({2})}), two = line_set(1, {content({10}), content({20})});
  executor_.memory().install({&one, &two});
  EXPECT_EQ(paths([] { return load<uint64_t>(0) + load<uint64_t>(64); }), (std::vector<uint64_t>{11, 21, 12, 22}));
  executor_.memory().uninstall();
}

TEST_F(ExecutorTest, AnAccessAcrossTwoLinesDecidesBoth) {
  Content low, high;
  low.bytes[63] = 1;
  high.bytes[0] = 1;
  const LineSet one = line_set(0, {Content{}, low}), two = line_set(1, {Content{}, high});
  executor_.memory().install({&one, &two});
  EXPECT_EQ(paths([] { return uint64_t{load<uint16_t>(63)}; }), (std::vector<uint64_t>{0, 0x100, 1, 0x101}));
  executor_.memory().uninstall();
}

TEST_F(ExecutorTest, AStoreHidesTheMediumBelowIt) {
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

TEST_F(ExecutorTest, ALockedInstructionReadsAndWrites) {
  const LineSet set = line_set(0, {content({1}), content({2})});
  executor_.memory().install({&set});
  EXPECT_EQ(paths([] { return exchange(0, 50) * 100 + load<uint64_t>(0); }), (std::vector<uint64_t>{150, 250}));
  executor_.memory().uninstall();
}

TEST_F(ExecutorTest, UndoTakesEverythingBack) {
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

TEST_F(ExecutorTest, LevelsNestAndComeOffAgain) {
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

TEST_F(ExecutorTest, TheHeapOfAnExecutionIsDropped) {
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

TEST_F(ExecutorTest, AWildStoreIsStoppedBeforeItHappens) {
  const Outcome outcome = run([] { store_to(&foreign_global, uint64_t{1}); });
  EXPECT_EQ(outcome.kind, Outcome::Kind::kWildStore);
  EXPECT_EQ(outcome.address, reinterpret_cast<uint64_t>(&foreign_global));
  EXPECT_FALSE(outcome.stack.empty());
  EXPECT_EQ(foreign_global, 6u);
}

TEST_F(ExecutorTest, StoresToTheOwnStackAndGlobalsAreNotWild) {
  const UndecidedMemory::Mark start = executor_.memory().mark();
  EXPECT_TRUE(run([] {
                uint64_t local = 0;
                store_to(&local, uint64_t{1});
                store_to(&target_global, uint64_t{2});
              }).returned());
  executor_.memory().undo(start);
}

TEST_F(ExecutorTest, AStoreThatEndsOutsideThePoolIsWild) {
  // The arena begins where the pool ends, and both belong to the target; a store over the edge belongs to neither.
  EXPECT_EQ(run([] { store<uint64_t>(65536 - 4, 1); }).kind, Outcome::Kind::kWildStore);
}

TEST_F(ExecutorTest, FaultsEndAnExecutionAndNotTheEngine) {
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

TEST_F(ExecutorTest, TheStepBudgetIsEachExecutionsOwn) {
  const auto nine_hundred = [] {
    for (int i = 0; i < 900; ++i) step();
  };
  EXPECT_TRUE(run(nine_hundred).returned());
  EXPECT_TRUE(run(nine_hundred).returned());
}

TEST_F(ExecutorTest, AFaultLeavesNothingBehind) {
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

TEST_F(ExecutorTest, ReadSetsHoldWhatWasReadOnce) {
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

TEST_F(ExecutorTest, ASignatureTellsApartWhatTheBytesMayHold) {
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

TEST_F(ExecutorTest, ASignatureKeepsBytesTogether) {
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

TEST_F(ExecutorTest, TheLeafOfARecoveryIsWhatItLoaded) {
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

// ---- cuts inside recovery ------------------------------------------------------------------------------------

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

TEST_F(ExecutorTest, ACutBeforeEachFenceThatRaisesAFloor) {
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

TEST_F(ExecutorTest, TheMediumBelowASecondCutIsWhatTheFirstOneLeft) {
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
  // Recovery saw 2: the content with 1 is out. What it stored may have persisted on either of the others.
  const std::vector<LineSet> child = executor_.memory().child(*cut);
  EXPECT_EQ(contents_of(child, 0), words({{2, 20}, {2, 30}, {2, 20, 5}, {2, 30, 5}}));
  for (size_t i = 0; i < child[0].contents.size(); ++i) {
    EXPECT_EQ(child[0].contents[i].bytes[8], set.contents[child[0].base[i]].bytes[8]) << "names the wrong base";
  }
  executor_.memory().uninstall();
}

TEST_F(ExecutorTest, ALineThatRecoveryDidNotReadStaysAsOpen) {
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

TEST_F(ExecutorTest, CutsOfPathsAlreadyTakenAreNotRepeated) {
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

class EditedExecutorTest : public ::testing::Test {
 protected:
  using Left = decltype(contents_of({}, 0));
  // What recovery leaves of line 0 after its return, under `edits`.
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

TEST_F(ExecutorTest, ALockedInstructionOfRecoveryFencesFirst) {
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

}  // namespace
}  // namespace powercut
