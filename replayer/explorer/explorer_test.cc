// Random small schemes: recovery and queries are random programs over three lines, run on the crash images of a
// random trace. The clever explorer and the eager reference must give the same results at every crash point,
// and every image that the explorer shows for a result must lead to that result when it is run as it stands.
#include "replayer/explorer/explorer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/executor/test_hooks.h"
#include "replayer/explorer/test_scheme_draw.h"

namespace powercut {
namespace {

using testing::event_of;
using testing::execute;
using testing::offset_of;
using testing::Op;
using testing::Program;
using testing::scheme_global;
using testing::TraceStep;

constexpr uint64_t kPoolSize = testing::kSchemePool;
constexpr uint64_t kEagerLimit = 400;  // states of a level; larger ones would take the reference minutes

struct Scheme {
  Program recovery;
  std::vector<Program> queries;
  Program intruder = {};
  bool intrudes = false;  // then the queries are about keys, and each has a bystander
};

// Queries from here on are the intruder, and the bystander of query q (from 1 on).
constexpr QueryId kIntruder = 100;

// An image that the explorer showed, and the result that it must lead to.
struct Shown {
  int depth;
  QueryId query;
  std::string result;
  Image image;
};

class TinySubject final : public Subject {
 public:
  explicit TinySubject(const Scheme& scheme, bool wants_all = true, bool explain = true, bool regions = true)
      : scheme_(scheme), wants_all_(wants_all), explain_(explain), regions_(regions && !scheme.intrudes) {
    list(scheme.queries.size());
  }
  // Asks the first `count` queries from here on, each a group of its own.
  void list(size_t count) { count_ = count; }
  void recover(ResultBuffer* result) override {
    auto* heap = static_cast<uint64_t*>(calloc(testing::kHeapWords, 8));
    opened_ = {reinterpret_cast<uint64_t>(heap), 0, true};
    execute(scheme_.recovery, heap, result);
  }
  Opened opened() const override { return opened_; }
  void reopen(const Opened& opened) override { opened_ = opened; }
  std::array<uint32_t, Group::kKinds> groups() const override {
    const auto count = static_cast<uint32_t>(count_);
    if (regions_) return {0, count, 0, 0};
    return {count, 0, 0, scheme_.intrudes ? 1 + count : 0};
  }
  std::span<const QueryId> members(Group group) override {
    member_ = group.kind == 3 ? kIntruder + group.index : group.index + 1;
    return {&member_, 1};
  }
  const std::vector<Group>& obliged() override { return obliged_; }
  bool wants_all() const override { return wants_all_; }
  void run(QueryId query, ResultBuffer* result) override {
    auto* heap = reinterpret_cast<uint64_t*>(opened_.table);
    const Program& program = query == kIntruder  ? scheme_.intruder
                             : query > kIntruder ? scheme_.queries[query - kIntruder - 1]
                                                 : scheme_.queries[query - 1];
    execute(program, heap, result);
    if (query <= kIntruder) return;
    const size_t size = result->view().size();
    nobody_.clear();
    execute(scheme_.intruder, heap, &nobody_);
    result->set_phase(1);  // it looks again
    execute(program, heap, result);
    noticed(size, result);
  }
  void ended(QueryId query, const Outcome& outcome, ResultBuffer* result) override {
    if (query <= kIntruder || result->phase() == 1) return put_failure(outcome, result);
    result->clear();
    result->put_byte('=');
  }
  std::string_view undisturbed() const override { return "="; }
  Judgement recovered(int depth, const Outcome&, std::string_view result) override {
    return note(depth, kRecoveryQuery, result);
  }
  Judgement answered(int depth, QueryId query, std::string_view result) override { return note(depth, query, result); }
  void explained(int depth, QueryId query, std::string_view result, const Outcome*, const Image& image) override {
    shown.push_back({depth, query, std::string(result), image});
  }

  std::set<std::string> results;
  std::vector<Shown> shown;

 private:
  Judgement note(int depth, QueryId query, std::string_view result) {
    // It goes without saying: a bystander is asked only where it may answer something else.
    if (query > kIntruder && result == undisturbed()) return Judgement::kGood;
    std::string line = std::to_string(depth) + "/" + std::to_string(query) + "/";
    for (char byte : result) line += std::to_string(static_cast<uint8_t>(byte)) + ".";
    return results.insert(line).second && explain_ ? Judgement::kExplain : Judgement::kGood;
  }

  const Scheme& scheme_;
  const bool wants_all_;
  const bool explain_;  // ask for the image of everything that is new
  const bool regions_;  // queries are about regions, and not about keys
  size_t count_ = 0;
  ResultBuffer nobody_{1 << 12};
  Opened opened_;
  QueryId member_ = 0;
  std::vector<Group> obliged_;
};

struct Case {
  Scheme scheme;
  std::vector<TraceStep> trace;
  std::string model;
  AtomPolicy policy = AtomPolicy::kAny;
  int nested = 0;
  bool explain = true;  // whether images are asked for, and compared
  uint64_t merge_after = 0;
};

struct Explored {
  std::vector<std::set<std::string>> results;  // by crash point
  std::vector<BigInt> states;
  uint64_t query_runs = 0, executions = 0;
  absl::flat_hash_set<uint64_t> leaves;
  bool complete = true;
  std::string problem;  // an image that does not show what it is said to show
};

// Runs the image as it stands: every line of every level holds one content.
std::optional<std::string> replay(Executor* executor, const Scheme& scheme, const Shown& shown) {
  TinySubject subject(scheme);
  ResultBuffer buffer;
  std::vector<std::vector<LineSet>> levels;
  std::string got;
  bool found = true;
  const auto level_of = [](const std::vector<Image::Line>& lines) {
    std::vector<LineSet> out;
    for (const Image::Line& line : lines) out.push_back(testing::line_set(line.line, {line.content}));
    return out;
  };
  const auto pointers = [](const std::vector<LineSet>& lines) {
    LineSets out;
    for (const LineSet& line : lines) out.push_back(&line);
    return out;
  };
  levels.push_back(level_of(shown.image.levels[0]));
  executor->memory().install(pointers(levels[0]));
  size_t installed = 1;
  for (size_t d = 1; d < shown.image.levels.size() && found; ++d) {
    // The cut inside this level's recovery that the image names.
    const Image::Nested& nested = shown.image.nested[d - 1];
    Decisions decisions;
    std::vector<Cut> cuts;
    const UndecidedMemory::Mark start = executor->memory().mark();
    const Outcome outcome = executor->run_recovery(&decisions, &cuts, [&] { subject.recover(&buffer); });
    if (outcome.returned()) {
      if (auto last = executor->recovery().cut_after()) cuts.push_back(std::move(*last));
    }
    executor->memory().undo(start);
    levels.push_back(level_of(shown.image.levels[d]));
    // Lines that the child of the concrete level knows must offer the content; the others must not have changed.
    found = std::any_of(cuts.begin(), cuts.end(), [&](const Cut& cut) {
      if (cut.stores_seen != nested.stores_seen || cut.after_return != nested.after_return) return false;
      const std::vector<LineSet> children = executor->memory().child(cut);
      return std::all_of(levels[d].begin(), levels[d].end(), [&](const LineSet& line) {
        for (const LineSet& child : children) {
          if (child.line == line.line) {
            return std::find(child.contents.begin(), child.contents.end(), line.contents[0]) != child.contents.end();
          }
        }
        return std::memcmp(pool_bytes() + line.line * kLineSize, line.contents[0].bytes.data(), kLineSize) == 0;
      });
    });
    executor->memory().install(pointers(levels[d]));
    ++installed;
  }
  if (found) {
    Decisions decisions;
    buffer.clear();
    Outcome outcome = executor->run_recovery(&decisions, nullptr, [&] { subject.recover(&buffer); });
    if (shown.query != kRecoveryQuery && outcome.returned()) {
      buffer.clear();
      outcome = executor->run(&decisions, [&] { subject.run(shown.query, &buffer); });
    }
    if (!outcome.returned() && shown.query == kRecoveryQuery) put_failure(outcome, &buffer);
    if (!outcome.returned() && shown.query != kRecoveryQuery) subject.ended(shown.query, outcome, &buffer);
    got = std::string(buffer.view());
  }
  for (; installed > 0; --installed) executor->memory().uninstall();
  const auto numbers = [](const std::string& bytes) {
    std::string out;
    for (char byte : bytes) out += std::to_string(static_cast<uint8_t>(byte)) + " ";
    return out;
  };
  const std::string what = "depth " + std::to_string(shown.depth) + " query " + std::to_string(shown.query);
  if (!found) return what + ": recovery does not leave the image of the second cut";
  if (got != shown.result) return what + ": shown for " + numbers(shown.result) + "but gives " + numbers(got);
  return std::nullopt;
}

// `keys`: there are ever more of what is asked about; else there are more and fewer, as no table has them.
Explored explore(const Case& c, const std::string& strategy_name, bool remember, bool wants_all = true,
                 bool keys = false) {
  scheme_global = 0;
  const auto global = reinterpret_cast<uint64_t>(&scheme_global);
  Executor executor({.pool_size = kPoolSize,
                     .policy = c.policy,
                     .persistency = persistency_of(c.model),
                     .step_budget = 1000,
                     .globals = {{global, global + 8}},
                     .own_code = {}});
  auto strategy = make_strategy(strategy_name, {.samples = 4, .exhaustive_limit = kEagerLimit});
  auto model = make_model(c.model, c.policy, kPoolSize);
  Frontier frontier(executor.pool());
  TinySubject subject(c.scheme, wants_all, c.explain, !keys);
  const auto explorer =
      make_explorer(&executor, strategy.get(), &subject,
                    {.nested = c.nested, .paranoid = true, .remember = remember, .merge_after = c.merge_after});
  Explored out;
  const auto visit = [&] {
    const std::vector<Frontier::Change>& changes = frontier.follow(model.get());
    subject.results.clear();
    subject.shown.clear();
    const size_t ordinal = out.results.size(), most = c.scheme.queries.size();
    const size_t some = keys && ordinal > 1 ? most : 1;
    subject.list(c.scheme.intrudes || (!keys && ordinal % 3 != 1) ? most : some);
    explorer->crash_point(frontier, changes, out.results.size());
    out.results.push_back(subject.results);
    out.states.push_back(frontier.states());
    if (!explorer->distrust().empty()) out.problem = explorer->distrust();
    for (const Shown& shown : subject.shown) {
      if (auto wrong = replay(&executor, c.scheme, shown)) out.problem = *wrong;
    }
  };
  testing::for_each_crash_point(c.trace, model.get(), visit);
  out.complete = strategy->complete();
  out.query_runs = explorer->counts().query_runs;
  out.executions = explorer->counts().executions;
  out.leaves = explorer->counts().leaves;
  return out;
}

// ---- drawing -------------------------------------------------------------------------------------------------

Case any_case() {
  Case c;
  c.scheme.recovery = *testing::any_recovery().as("recovery");
  c.scheme.queries = *rc::gen::container<std::vector<Program>>(2, testing::any_query()).as("queries");
  c.scheme.intruder = *rc::gen::oneOf(testing::any_recovery(), testing::any_query()).as("intruder");
  c.scheme.intrudes = *rc::gen::arbitrary<bool>().as("intrudes");
  c.trace = *rc::gen::container<std::vector<TraceStep>>(testing::any_step()).as("trace");
  c.model = *rc::gen::element<std::string>("adr", "adr", "eadr").as("model");
  c.policy = *rc::gen::element(AtomPolicy::kAny, AtomPolicy::kAscending);
  c.nested = *rc::gen::inRange(0, 3).as("nested");
  // What is not asked for an image is good, and a recovery that is good and stores nothing is *steady*.
  c.explain = *rc::gen::arbitrary<bool>();
  c.merge_after = *rc::gen::element<uint64_t>(0, 0, 2, QuerySearch::kNever);
  if (!c.explain && *rc::gen::arbitrary<bool>()) std::erase_if(c.scheme.recovery, testing::stores);
  // Long programs make the reference slow and show nothing that short ones do not.
  const size_t longest = c.nested == 2 ? 7 : 14;
  if (c.scheme.recovery.size() > longest) c.scheme.recovery.resize(longest);
  if (c.trace.size() > 14) c.trace.resize(14);
  for (size_t i = 1; i < c.trace.size(); ++i) {
    const TraceStep& before = c.trace[i - 1];
    const bool stores = before.kind == EventKind::kStore && before.flags == 0 && c.trace[i].kind == EventKind::kStore;
    if (!stores || c.trace[i].flags != 0 || before.thread != c.trace[i].thread) continue;
    if (*rc::gen::inRange(0, 3) == 0) c.trace[i].flags = kStoreContinues;
  }
  // With cuts inside recovery the number of images grows with every store.
  testing::tame(&c.trace, c.model, c.policy, c.nested == 0 ? kEagerLimit : c.nested == 1 ? 60 : 12);
  c.trace.push_back({EventKind::kOpEnd});
  return c;
}

RC_GTEST_PROP(RandomSchemes, ReadDrivenAgreesWithExhaustive, ()) {
  const Case c = any_case();
  const Explored eager = explore(c, "exhaustive", false);
  RC_PRE(eager.complete);
  const Explored clever = explore(c, "read-driven", false);
  RC_ASSERT(clever.results == eager.results);
  RC_ASSERT(clever.states == eager.states);
  RC_ASSERT(eager.problem == "");
  RC_ASSERT(clever.problem == "");
}

RC_GTEST_PROP(RandomSchemes, RememberingChangesNothing, ()) {
  const Case c = any_case();
  const Explored asking = explore(c, "read-driven", false);
  const Explored remembering = explore(c, "read-driven", true);
  RC_ASSERT(remembering.results == asking.results);
  RC_ASSERT(remembering.problem == "");
  RC_CLASSIFY(remembering.query_runs < asking.query_runs);
}

// A subject that does not ask for everything is told of every answer that is new to the query, at whatever depth.
RC_GTEST_PROP(RandomSchemes, NoNewAnswerIsPassedOver, ()) {
  const Case c = any_case();
  const auto all_of = [](const Explored& explored) {
    std::set<std::string> out;
    for (const auto& results : explored.results) {
      for (const std::string& line : results) out.insert(line.substr(line.find('/')));
    }
    return out;
  };
  RC_ASSERT(all_of(explore(c, "read-driven", true, false, true)) ==
            all_of(explore(c, "read-driven", false, true, true)));
}

RC_GTEST_PROP(RandomSchemes, SamplesFindNoMore, ()) {
  const Case c = any_case();
  const Explored whole = explore(c, "read-driven", true);
  for (const char* strategy : {"prefix", "random"}) {
    const Explored part = explore(c, strategy, true);
    RC_ASSERT(!part.complete);
    RC_ASSERT(part.results.size() == whole.results.size());
    for (size_t i = 0; i < part.results.size(); ++i) {
      RC_ASSERT(std::includes(whole.results[i].begin(), whole.results[i].end(), part.results[i].begin(),
                              part.results[i].end()));
    }
    RC_ASSERT(part.problem == "");
  }
}

// ---- examples ------------------------------------------------------------------------------------------------

class ExplorerTest : public ::testing::Test {
 protected:
  ExplorerTest() : executor_({.pool_size = kPoolSize, .step_budget = 1000, .globals = {}, .own_code = {}}) {}

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
  std::unique_ptr<Model> model_ = make_adr(AtomPolicy::kAny, kPoolSize);
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
  // Recovery counts up in place: what it finds after n cuts is at most n.
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
  // Says what it finds in two lines; makes the first durable, and leaves the second to the cache.
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

// It is steady only as long as what it reads stays as it is.
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

// What recovery stores to is compared with what was there, in both directions.
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
    std::array<uint32_t, Group::kKinds> groups() const override { return {}; }
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
