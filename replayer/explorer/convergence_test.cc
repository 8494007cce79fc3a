// Tests of recoveries that come to a situation in which another one has been. remembering_test.cc tests that no finding
// is lost: its random recoveries meet as well.
#include "replayer/explorer/convergence.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "replayer/explorer/explorer.h"
#include "replayer/explorer/test_scheme_draw.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

using testing::TraceStep;

constexpr uint64_t kItems = 12, kPool = 8192;

uint64_t from(uint64_t item) { return item * kLineSize; }
uint64_t to(uint64_t item) { return (kItems + item) * kLineSize; }

void persist(uint64_t offset) {
  testing::flush(offset);
  testing::fence();
  testing::step();
}

// Moves every item from its old place to its new one; recovery finishes that. With `counts_moves` no two recoveries
// that began at different items are ever in the same state.
class Moving final : public Subject {
 public:
  explicit Moving(bool counts_moves) : counts_moves_(counts_moves) {}
  void recover(ResultBuffer* result) override {
    uint64_t moves = 0;
    for (uint64_t item = 0; item < kItems; ++item) {
      const auto value = testing::load<uint64_t>(from(item));
      if (value == 0) continue;
      testing::store<uint64_t>(to(item), value);
      persist(to(item));
      testing::store<uint64_t>(from(item), 0);
      persist(from(item));
      ++moves;
    }
    result->put_byte(counts_moves_ ? static_cast<uint8_t>(moves) : 0);
  }
  Opened opened() const override { return {1, 0, true}; }
  void reopen(const Opened&) override {}
  GroupCounts groups() const override { return {.keys = kItems}; }
  std::span<const QueryId> members(Group group) override {
    member_ = 1 + group.index;
    return {&member_, 1};
  }
  const std::vector<Group>& obliged() override { return none_; }
  bool wants_all() const override { return false; }
  void run(QueryId query, ResultBuffer* result) override {
    result->put_byte(testing::load<uint8_t>(to(query - 1)));
    result->put_byte(testing::load<uint8_t>(from(query - 1)));
  }
  Judgement recovered(int, const Outcome&, std::string_view result) override {
    told.insert("recovery " + std::to_string(result[0]));
    return Judgement::kGood;
  }
  Judgement answered(int depth, QueryId query, std::string_view result) override {
    told.insert(std::to_string(depth) + " " + std::to_string(query) + " " + std::to_string(result[0]) + " " +
                std::to_string(result[1]));
    return Judgement::kBad;
  }
  void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}

  std::set<std::string> told;

 private:
  const bool counts_moves_;
  QueryId member_ = 0;
  const std::vector<Group> none_;
};

struct ExploredMoves {
  ExplorerCounts counts;
  RecoveryPeaks peaks;
  std::set<std::string> told;
};

// All items are put to their old places, then half of them are moved.
ExploredMoves explore(bool counts_moves, bool meet, const std::string& model_name = "adr") {
  Moving subject(counts_moves);
  Executor executor({.pool_size = kPool,
                     .persistency = persistency_of(model_name),
                     .step_budget = 100000,
                     .globals = {},
                     .own_code = {}});
  const auto model = make_model(model_name, AtomPolicy::kAscending, kPool);
  Frontier frontier(executor.pool());
  const auto explorer = make_trie_explorer(
      &executor, &subject, {.nested = 1, .merge_after = meet ? QuerySearch::kMergeAfter : QuerySearch::kNever});
  std::vector<Event> events;
  std::array<uint64_t, 2> values = {0, 7};
  const auto add = [&](EventKind kind, uint64_t at, size_t value) {
    Event event;
    event.index = events.size();
    event.kind = kind;
    event.addr = at;
    event.code = 1;
    event.size = kind == EventKind::kStore ? 8 : 0;
    event.value = {reinterpret_cast<const uint8_t*>(&values[value]), event.size};
    events.push_back(event);
  };
  const auto put = [&](uint64_t at, size_t value) {
    add(EventKind::kStore, at, value);
    add(EventKind::kFlush, at, 0);
    add(EventKind::kFence, 0, 0);
  };
  for (uint64_t item = 0; item < kItems; ++item) put(from(item), 1);
  for (uint64_t item = 0; item < kItems / 2; ++item) put(to(item), 1), put(from(item), 0);
  CrashPoints crash_points(model.get());
  uint64_t ordinal = 0;
  for (const Event& event : events) {
    while (crash_points.next(&event)) explorer->crash_point(frontier, frontier.follow(model.get()), ordinal++);
  }
  while (crash_points.next(nullptr)) explorer->crash_point(frontier, frontier.follow(model.get()), ordinal++);
  return {explorer->counts(), executor.recovery().peaks(), subject.told};
}

TEST(Convergence, AMoveIsGoneThroughOnceHoweverManyRecoveriesMakeIt) {
  const ExploredMoves meeting = explore(false, true), apart = explore(false, false);
  EXPECT_EQ(meeting.told, apart.told);
  EXPECT_EQ(apart.counts.met, 0u);
  EXPECT_GT(meeting.counts.met, kItems);
  // Each recovery that is cut at one of its n moves leaves the rest to one that makes them all again.
  EXPECT_LT(meeting.counts.query_answers * 4, apart.counts.query_answers);
}

TEST(Convergence, CachesThatPersistAreNoDifference) {
  const ExploredMoves meeting = explore(false, true, "eadr"), apart = explore(false, false, "eadr");
  EXPECT_EQ(meeting.told, apart.told);
  EXPECT_GT(meeting.counts.met, kItems);
}

TEST(Convergence, WhatARecoveryRemembersKeepsItApart) {
  const ExploredMoves meeting = explore(true, true), apart = explore(true, false);
  EXPECT_EQ(meeting.told, apart.told);
  EXPECT_GT(meeting.told.size(), explore(false, true).told.size());
}

TEST(Convergence, TheMostThatARecoveryDoesIsKnown) {
  const ExploredMoves meeting = explore(false, true), apart = explore(false, false);
  EXPECT_EQ(meeting.peaks.stores.value, apart.peaks.stores.value);
  EXPECT_EQ(meeting.peaks.flushes.value, apart.peaks.flushes.value);
  EXPECT_EQ(meeting.peaks.fences.value, apart.peaks.fences.value);
  EXPECT_EQ(meeting.peaks.lines_read.value, apart.peaks.lines_read.value);
  EXPECT_EQ(apart.peaks.stores.value, 2 * kItems);
}

// ---- small recoveries ------------------------------------------------------------------------------

uint64_t remembered = 0;  // a global of the target

// One key, whose answers are all told.
struct Small final : Subject {
  std::function<void(ResultBuffer*)> recovery, query = [](ResultBuffer*) {};
  std::vector<Group> tightened = {};
  std::set<std::string> told = {};
  uint64_t table = 1;

  void recover(ResultBuffer* result) override { recovery(result); }
  Opened opened() const override { return {table, 0, true}; }
  void reopen(const Opened& opened) override { table = opened.table; }
  GroupCounts groups() const override { return {.keys = 1}; }
  std::span<const QueryId> members(Group) override { return ids_; }
  const std::vector<Group>& obliged() override { return tightened; }
  bool wants_all() const override { return false; }
  void run(QueryId, ResultBuffer* result) override { query(result); }
  Judgement recovered(int, const Outcome&, std::string_view result) override {
    if (!result.empty()) told.insert("recovery " + std::to_string(result[0]));
    return Judgement::kGood;
  }
  Judgement answered(int, QueryId, std::string_view result) override {
    if (!result.empty()) told.insert("query " + std::to_string(result[0]));
    return Judgement::kGood;
  }
  void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}

 private:
  std::vector<QueryId> ids_ = {1};
};

// Puts values to words of the pool, with a crash point before each of them is durable and one after it.
class SmallRun {
 public:
  explicit SmallRun(Small* subject, bool meet = true)
      : executor_({.pool_size = kPool,
                   .step_budget = 1000,
                   .globals = {{reinterpret_cast<uint64_t>(&remembered), reinterpret_cast<uint64_t>(&remembered + 1)}},
                   .own_code = {}}),
        model_(make_model("adr", AtomPolicy::kAny, kPool)),
        frontier_(executor_.pool()),
        explorer_(make_trie_explorer(
            &executor_, subject, {.nested = 1, .merge_after = meet ? QuerySearch::kMergeAfter : QuerySearch::kNever})) {
  }
  // Queries asked until now.
  uint64_t put(uint8_t word, uint8_t value) {
    apply({.kind = EventKind::kStore, .word = word, .value = value, .size = 8});
    crash();
    apply({.kind = EventKind::kFlush, .word = word});
    apply({.kind = EventKind::kFence});
    crash();
    return explorer_->counts().query_answers;
  }
  uint64_t most_stores() const { return executor_.recovery().peaks().stores.value; }

 private:
  void apply(const TraceStep& step) { model_->apply(testing::event_of(step, events_++, &bytes_)); }
  void crash() { explorer_->crash_point(frontier_, frontier_.follow(model_.get()), events_); }

  Executor executor_;
  const std::unique_ptr<Model> model_;
  Frontier frontier_;
  const std::unique_ptr<Explorer> explorer_;
  std::array<uint8_t, 16> bytes_{};
  uint64_t events_ = 0;
};

// Returns the answers that are told when the first word is 1, and then 2.
std::set<std::string> told_of(Small& subject, bool meet) {
  subject.told.clear();
  SmallRun run(&subject, meet);
  for (const uint8_t value : {1, 2}) run.put(0, value);
  return subject.told;
}

// Reads the first word, and wipes it out for all that come after it.
[[gnu::noinline]] uint8_t take() {
  const auto value = testing::load<uint8_t>(0);
  testing::store<uint64_t>(0, 0);
  return value;
}

// The table that is open is one word of the heap.
uint64_t* word_of(const Small& subject) { return reinterpret_cast<uint64_t*>(subject.table); }

TEST(Convergence, RecoveriesWithDifferentHeapsDoNotMeet) {
  Small subject;
  subject.recovery = [&](ResultBuffer*) {
    subject.table = reinterpret_cast<uint64_t>(calloc(1, 8));
    [&]() __attribute__((noinline)) { testing::store_to(word_of(subject), uint64_t{take()}); }();
    persist(0);
  };
  subject.query = [&](ResultBuffer* result) {
    result->put_byte(static_cast<uint8_t>(testing::load_from(word_of(subject))));
  };
  EXPECT_EQ(told_of(subject, false), (std::set<std::string>{"query 0", "query 1", "query 2"}));
  EXPECT_EQ(told_of(subject, true), told_of(subject, false));
}

TEST(Convergence, RecoveriesWithDifferentGlobalsDoNotMeet) {
  Small subject;
  subject.recovery = [](ResultBuffer*) {
    []() __attribute__((noinline)) { testing::store_to(&remembered, uint64_t{take()}); }();
    persist(0);
  };
  subject.query = [](ResultBuffer* result) { result->put_byte(static_cast<uint8_t>(testing::load_from(&remembered))); };
  EXPECT_EQ(told_of(subject, false), (std::set<std::string>{"query 0", "query 1", "query 2"}));
  EXPECT_EQ(told_of(subject, true), told_of(subject, false));
}

TEST(Convergence, RecoveriesThatHaveSaidDifferentThingsDoNotMeet) {
  Small subject;
  subject.recovery = [](ResultBuffer* result) {
    [&]() __attribute__((noinline)) { result->put_byte(take()); }();
    persist(0);
  };
  EXPECT_EQ(told_of(subject, false), (std::set<std::string>{"recovery 0", "recovery 1", "recovery 2"}));
  EXPECT_EQ(told_of(subject, true), told_of(subject, false));
}

// Words 0 and 2 are x and y. From x = 1 recovery goes to x = 2; from there it sets y to 1, 2, 3, and one that finds y =
// 2 sets it to 9. The situation behind y = 1 is first met under the last cut, where nothing is cut any more.
TEST(Convergence, ARecoveryWithMoreCutsToComeIsNotLeft) {
  const auto set = [](uint8_t word, uint8_t value) {
    testing::store<uint64_t>(testing::offset_of(word), testing::in_each_byte(value));
    persist(testing::offset_of(word));
  };
  const auto get = [](uint8_t word) { return testing::load<uint8_t>(testing::offset_of(word)); };
  Small subject;
  subject.recovery = [&](ResultBuffer*) {
    if (get(0) == 1) return set(0, 2);
    if (get(0) != 2) return;
    if (get(2) == 2) return set(2, 9);
    for (const uint8_t value : {1, 2, 3}) set(2, value);
  };
  subject.query = [&](ResultBuffer* result) { result->put_byte(get(2)); };
  EXPECT_TRUE(told_of(subject, false).contains("query 9"));
  EXPECT_EQ(told_of(subject, true), told_of(subject, false));
}

TEST(Convergence, ARecoveryThatHasStoredMoreIsFollowedToItsEnd) {
  Small subject;
  subject.recovery = [](ResultBuffer*) {
    []() __attribute__((noinline)) {
      for (uint8_t i = take(); i > 0; --i) testing::store<uint64_t>(8, 0);
    }();
    persist(0);
    testing::store<uint64_t>(8, 0);
  };
  SmallRun run(&subject);
  run.put(0, 1);
  run.put(0, 5);
  EXPECT_EQ(run.most_stores(), 7u);
}

// An insert that kicks items out may come back to a table that it had before, again and again.
TEST(Convergence, ACrashPointWithAMediumOfBeforeIsNotGoneThroughAgain) {
  Small subject;
  subject.recovery = [](ResultBuffer*) {};
  SmallRun run(&subject);
  for (const uint8_t value : {1, 2, 1}) run.put(0, value);
  const uint64_t asked = run.put(0, 2);
  EXPECT_EQ(run.put(0, 1), asked);
  EXPECT_EQ(run.put(0, 2), asked);
  const uint64_t another = run.put(0, 3);
  EXPECT_GT(another, asked);
  subject.tightened = {{GroupKind::kKey, 0}};
  const uint64_t obliged = run.put(0, 2);
  EXPECT_GT(obliged, another);
  subject.tightened = {};
  EXPECT_GT(run.put(0, 1), obliged);
}

// Recovery takes the pool apart for a moment, and a pool that is apart it refuses, which is right at first only.
TEST(Convergence, ARefusalIsJudgedAgain) {
  struct Refusing final : Subject {
    void recover(ResultBuffer* result) override {
      opened_.usable = testing::load<uint64_t>(0) != 0;
      result->put_byte(opened_.usable ? 0 : 1);
      if (!opened_.usable) return;
      for (const uint64_t value : {0, 1}) {
        testing::store<uint64_t>(0, value);
        persist(0);
      }
    }
    Opened opened() const override { return opened_; }
    void reopen(const Opened& opened) override { opened_ = opened; }
    GroupCounts groups() const override { return {}; }
    std::span<const QueryId> members(Group) override { return {}; }
    const std::vector<Group>& obliged() override { return none_; }
    bool wants_all() const override { return false; }
    void run(QueryId, ResultBuffer*) override {}
    Judgement recovered(int depth, const Outcome&, std::string_view result) override {
      if (result[0] == 0 || may_refuse) return Judgement::kGood;
      told.insert(depth);
      return Judgement::kBad;
    }
    Judgement answered(int, QueryId, std::string_view) override { return Judgement::kGood; }
    void explained(int, QueryId, std::string_view, const Outcome*, const Image&) override {}
    bool may_refuse = true;
    std::set<int> told;
    Opened opened_{1, 0, true};
    const std::vector<Group> none_;
  } subject;
  Executor executor({.pool_size = kPool, .step_budget = 1000, .globals = {}, .own_code = {}});
  const auto model = make_model("adr", AtomPolicy::kAny, kPool);
  Frontier frontier(executor.pool());
  const auto explorer = make_trie_explorer(&executor, &subject, {.nested = 1});
  std::array<uint8_t, 16> bytes{};
  uint64_t events = 0;
  const auto crash = [&] {  // with one and the same medium
    model->apply(testing::event_of({.kind = EventKind::kStore, .word = 0, .value = 1, .size = 8}, events++, &bytes));
    model->apply(testing::event_of({.kind = EventKind::kCut}, events++, &bytes));
    explorer->crash_point(frontier, frontier.follow(model.get()), events);
  };
  crash();
  EXPECT_EQ(subject.told, std::set<int>{});
  subject.may_refuse = false;
  crash();
  EXPECT_EQ(subject.told, std::set<int>{1});
}

}  // namespace
}  // namespace powercut
