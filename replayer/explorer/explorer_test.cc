// Examples of runs and queries that the explorer makes or leaves out. Each small scheme shows one rule.
#include "replayer/explorer/explorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/explorer/test_tiny_subject.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

using testing::offset_of;
using testing::Op;
using testing::Program;
using testing::Scheme;
using testing::TinySubject;

class ExplorerTest : public ::testing::Test {
 protected:
  ExplorerTest() : executor_({.pool_size = testing::kSchemePool, .step_budget = 1000, .globals = {}, .own_code = {}}) {}

  void apply(Event event) {
    event.index = events_++;
    model_->apply(event);
  }
  void store(uint64_t word, uint64_t value) {
    Event event;
    event.kind = EventKind::kStore;
    event.addr = offset_of(word);
    event.value = {reinterpret_cast<const uint8_t*>(&value), 8};
    event.size = 8;
    apply(event);
  }
  void persist(uint64_t word) {
    Event flush;
    flush.kind = EventKind::kFlush;
    flush.code = 1;
    flush.addr = offset_of(word);
    apply(flush);
    Event fence;
    fence.kind = EventKind::kFence;
    fence.code = 1;
    apply(fence);
  }
  BigInt explore(Explorer* explorer) {
    const std::vector<Frontier::Change>& changes = frontier_.follow(model_.get());
    return explorer->crash_point(frontier_, changes, 0);
  }

  Executor executor_;
  std::unique_ptr<Model> model_ = make_model("adr", AtomPolicy::kAny, testing::kSchemePool);
  Frontier frontier_{executor_.pool()};
  uint64_t events_ = 0;
};

TEST_F(ExplorerTest, LinesThatNothingReadsAreNotMultiplied) {
  const Scheme scheme{{{Op::kLoad, 0, 0, 0}}, {{{Op::kLoad, 0, 2, 0}, {Op::kEmit, 0, 0, 0}}}};
  TinySubject subject(scheme, true, false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  store(0, 1);
  store(2, 1);
  store(2, 2);
  store(4, 1);
  EXPECT_EQ(explore(explorer.get()), 12);
  EXPECT_EQ(explorer->counts().executions, 2u);  // recovery reads the first line
  EXPECT_EQ(explorer->counts().leaves.size(), 2u);
  EXPECT_EQ(explorer->counts().query_answers, 2u);
  EXPECT_EQ(explorer->counts().query_runs, 3u);  // the query reads the second one; its answers hold for both leaves
}

TEST_F(ExplorerTest, AnAnswerIsAskedForAgainWhenALineThatItReadChanges) {
  const Scheme scheme{{}, {{{Op::kLoad, 0, 0, 0}, {Op::kEmit, 0, 0, 0}}}};
  TinySubject subject(scheme, true, false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  store(4, 1);
  explore(explorer.get());
  persist(4);
  explore(explorer.get());
  EXPECT_EQ(explorer->counts().query_runs, 1u);  // a line that it does not read
  store(0, 7);
  persist(0);
  explore(explorer.get());
  EXPECT_EQ(explorer->counts().query_runs, 2u);
  EXPECT_TRUE(subject.results.contains("0/1/7."));
  explorer->forget();
  explore(explorer.get());
  EXPECT_EQ(explorer->counts().query_runs, 3u);
}

// The intruder does something else on a new content; the key that it disturbs there reads nothing that is new.
TEST_F(ExplorerTest, ABystanderIsAskedWhereOnlyTheIntruderReadsWhatIsNew) {
  const Scheme scheme{
      .recovery = {},
      .queries = {{{Op::kLoad, 0, 0, 0}, {Op::kEmit, 0, 0, 0}}},
      .intruder = {{Op::kLoad, 0, 2, 0}, {Op::kSkip, 0, 0, 1}, {Op::kStoreConst, 0, 0, 9}},
      .intrudes = true,
  };
  TinySubject subject(scheme, /*wants_all=*/false, /*explain=*/false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  explore(explorer.get());
  EXPECT_EQ(subject.results.count("0/101/0.9.9.9.9.9.9.9.9."), 0u);
  store(2, 1);
  explore(explorer.get());
  EXPECT_EQ(subject.results.count("0/101/0.9.9.9.9.9.9.9.9."), 1u);
}

// The intruder is asked on the new content of its line alone. On the old one it still disturbs the key, whose line has
// a new content as well: nobody has seen the two together.
TEST_F(ExplorerTest, ABystanderIsAskedOnItsNewContentWhereTheIntruderDoesWhatItDid) {
  const Scheme scheme{
      .recovery = {},
      .queries = {{{Op::kLoad, 0, 0, 0}, {Op::kEmit, 0, 0, 0}}},
      .intruder = {{Op::kLoad, 0, 2, 0}, {Op::kSkip, 0, 1, 1}, {Op::kStoreConst, 0, 0, 9}, {Op::kStoreConst, 0, 4, 9}},
      .intrudes = true,
  };
  TinySubject subject(scheme, /*wants_all=*/false, /*explain=*/false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  explore(explorer.get());
  EXPECT_EQ(subject.results.count("0/101/0.9.9.9.9.9.9.9.9."), 1u);
  store(0, 5);
  store(2, 1);
  explore(explorer.get());
  EXPECT_EQ(subject.results.count("0/101/5.9.9.9.9.9.9.9.9."), 1u);
}

TEST_F(ExplorerTest, OnlyNewContentsAreAskedFor) {
  const Scheme scheme{{}, {{{Op::kLoad, 0, 0, 0}, {Op::kEmit, 0, 0, 0}}}};
  TinySubject subject(scheme, /*wants_all=*/false, /*explain=*/false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  explore(explorer.get());
  EXPECT_EQ(explorer->counts().query_runs, 1u);
  store(0, 1);
  explore(explorer.get());  // 0 was asked, 1 is new
  EXPECT_EQ(explorer->counts().query_runs, 2u);
  store(0, 2);
  explore(explorer.get());
  EXPECT_EQ(explorer->counts().query_runs, 3u);
  persist(0);
  explore(explorer.get());  // the fence takes contents away
  EXPECT_EQ(explorer->counts().query_runs, 3u);
  EXPECT_EQ(explorer->counts().executions, 1u);
}

// Asking with a line narrowed to its new contents must not look like an observation of that line.
TEST_F(ExplorerTest, NarrowingDecidesNothing) {
  // Reads the first line only where the second holds 0.
  const Scheme scheme{{}, {{{Op::kLoad, 0, 2, 0}, {Op::kEmit, 0, 0, 0}, {Op::kSkip, 0, 1, 1}, {Op::kLoad, 1, 0, 0}}}};
  TinySubject subject(scheme, /*wants_all=*/false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  explore(explorer.get());
  store(2, 1);
  persist(2);
  explore(explorer.get());
  subject.results.clear();
  subject.shown.clear();
  store(0, 7);
  explore(explorer.get());
  ASSERT_EQ(subject.shown.size(), 1u);  // asked, since it may read the line
  const std::vector<Image::Line>& lines = subject.shown[0].image.levels[0];
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].candidates, 2u);
  EXPECT_FALSE(lines[0].decided);
}

TEST_F(ExplorerTest, ARecoveryThatReadsWhatItReadBeforeDoesNotRun) {
  // Reads one word, and another one where that is 1.
  const Scheme scheme{{{Op::kLoad, 0, 0, 0}, {Op::kSkip, 0, 0, 1}, {Op::kLoad, 1, 2, 0}, {Op::kEmit, 0, 0, 0}}, {}};
  TinySubject subject(scheme, true, false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  for (int round = 0; round < 3; ++round) {
    store(0, 1);
    explore(explorer.get());
    persist(0);
    explore(explorer.get());
    store(0, 0);
    explore(explorer.get());
    persist(0);
    explore(explorer.get());
  }
  EXPECT_EQ(explorer->counts().executions, 2u);
  store(2, 5);
  explore(explorer.get());  // the second word is read only where the first is 1
  EXPECT_EQ(explorer->counts().executions, 2u);
}

TEST_F(ExplorerTest, ASecondCutIsExploredToTheDepthAskedFor) {
  // Recovery counts up in place: after n cuts it finds a number of at most n.
  const Scheme scheme{{{Op::kLoad, 0, 0, 0},
                       {Op::kEmit, 0, 0, 0},
                       {Op::kSkip, 0, 0, 1},
                       {Op::kSkip, 0, 1, 2},
                       {Op::kStoreConst, 0, 0, 1},
                       {Op::kSkip, 1, 0, 1},
                       {Op::kStoreConst, 0, 0, 2},
                       {Op::kFlush, 0, 0, 0},
                       {Op::kFence, 0, 0, 0}},
                      {}};
  for (int nested = 0; nested <= 3; ++nested) {
    TinySubject subject(scheme);
    const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = nested});
    explore(explorer.get());
    const auto deepest = std::max_element(subject.results.begin(), subject.results.end());
    EXPECT_EQ((*deepest)[0] - '0', nested) << *deepest;
  }
}

TEST_F(ExplorerTest, RecoveryIsCutBeforeItsFencesAndAfterItReturned) {
  // Recovery emits the words that it finds in two lines. It makes the first line durable, and leaves the second to the
  // cache.
  const Scheme scheme{{{Op::kLoad, 0, 0, 0},
                       {Op::kEmit, 0, 0, 0},
                       {Op::kLoad, 1, 2, 0},
                       {Op::kEmit, 1, 0, 0},
                       {Op::kStoreConst, 0, 0, 1, 1},
                       {Op::kFlush, 0, 0, 0},
                       {Op::kFence, 0, 0, 0},
                       {Op::kStoreConst, 0, 2, 1, 1}},
                      {}};
  TinySubject subject(scheme);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 1});
  explore(explorer.get());
  // 0 0 by the cut before the fence alone, 1 1 by the cut after the return alone.
  EXPECT_EQ(subject.results, (std::set<std::string>{"0/0/0.0.", "1/0/0.0.", "1/0/1.0.", "1/0/1.1."}));
}

// A recovery is steady only as long as the bytes that it reads do not change.
TEST_F(ExplorerTest, ARecoveryThatReadsAChangedLineIsNotTakenFromBefore) {
  const Scheme scheme{{{Op::kLoad, 0, 0, 0}, {Op::kEmit, 0, 0, 0}}, {}};
  TinySubject subject(scheme, /*wants_all=*/false, /*explain=*/false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
  explore(explorer.get());
  store(2, 5);
  explore(explorer.get());
  EXPECT_EQ(subject.results, std::set<std::string>{"0/0/0."});
  store(0, 7);
  explore(explorer.get());
  EXPECT_EQ(subject.results, (std::set<std::string>{"0/0/0.", "0/0/7."}));
  store(0, 8);
  explore(explorer.get());  // several behaviours are not steady
  EXPECT_EQ(subject.results, (std::set<std::string>{"0/0/0.", "0/0/7.", "0/0/8."}));
  persist(0);
  explore(explorer.get());
  store(0, 9);
  explore(explorer.get());
  EXPECT_TRUE(subject.results.contains("0/0/9."));
}

// A line that recovery stores to is compared with its content before, in both directions.
TEST_F(ExplorerTest, ALineThatRecoveryStoresToIsNewToQueries) {
  // Puts 5 into the first line where the second holds 0.
  const Scheme scheme{{{Op::kLoad, 0, 2, 0}, {Op::kSkip, 0, 0, 1}, {Op::kSkip, 1, 0, 1}, {Op::kStoreConst, 0, 0, 5, 1}},
                      {{{Op::kLoad, 0, 0, 0}, {Op::kEmit, 0, 0, 0}}}};
  for (const uint64_t begin : {0, 1}) {
    TinySubject subject(scheme, /*wants_all=*/false, /*explain=*/false);
    const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 0});
    store(2, begin);
    persist(2);
    explore(explorer.get());
    EXPECT_TRUE(subject.results.contains(begin == 0 ? "0/1/5." : "0/1/0."));
    store(2, 1 - begin);
    persist(2);
    explore(explorer.get());
    EXPECT_TRUE(subject.results.contains(begin == 0 ? "0/1/0." : "0/1/5."));
  }
}

// The medium after a cut is met after two cuts first, and after one later on: then there is a cut more to come.
TEST_F(ExplorerTest, AMediumIsExploredAgainWhenMoreCutsAreToCome) {
  const auto put = [](Program* program, uint8_t value) {
    program->insert(program->end(), {{Op::kStoreConst, 0, 0, value, 1}, {Op::kFlush, 0, 0, 0}, {Op::kFence, 0, 0, 0}});
  };
  // 0 becomes 2 and then 1, 2 becomes 1, 1 becomes 3; each step is durable before the next.
  Program recovery = {{Op::kLoad, 0, 0, 0, 1}, {Op::kEmit, 0, 0, 0}, {Op::kSkip, 0, 0, 1}, {Op::kSkip, 1, 0, 3}};
  put(&recovery, 2);
  recovery.insert(recovery.end(), {{Op::kSkip, 0, 0, 2}, {Op::kSkip, 0, 2, 1}, {Op::kSkip, 1, 0, 3}});
  put(&recovery, 1);
  recovery.insert(recovery.end(), {{Op::kSkip, 0, 1, 1}, {Op::kSkip, 1, 0, 3}});
  put(&recovery, 3);
  const Scheme scheme{recovery, {}};
  TinySubject subject(scheme, /*wants_all=*/false, /*explain=*/false);
  const auto explorer = make_trie_explorer(&executor_, &subject, {.nested = 2});
  explore(explorer.get());
  EXPECT_TRUE(subject.results.contains("2/0/3."));
}

TEST_F(ExplorerTest, CodeThatWritesUnseenIsNotTrusted) {
  struct Sly final : Subject {
    void recover(ResultBuffer*) override { pool_bytes()[100] ^= 1; }  // no hook
    Opened opened() const override { return {}; }
    void reopen(const Opened&) override {}
    GroupCounts groups() const override { return {}; }
    std::span<const QueryId> members(Group) override { return {}; }
    const std::vector<Group>& obliged() override { return none; }
    bool wants_all() const override { return false; }
    void run(QueryId, ResultBuffer*) override {}
    Judgement recovered(int, const Outcome&, std::string_view) override { return Judgement::kGood; }
    Judgement answered(int, QueryId, std::string_view) override { return Judgement::kGood; }
    void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}
    std::vector<Group> none;
  } sly;
  const auto explorer = make_trie_explorer(&executor_, &sly, {.nested = 0, .paranoid = true});
  explore(explorer.get());
  EXPECT_NE(explorer->distrust(), "");
}

}  // namespace
}  // namespace powercut
