// Counters whose operations overlap: what a power cut may leave, against all orders of small histories, and what the
// history tells of a tree of schedules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "checker/oracle/history.h"
#include "checker/oracle/invariants.h"
#include "checker/oracle/test_orders.h"

namespace powercut::counters_of_threads {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using State = Linearizations::State;

struct Call {
  OpKind kind{};
  State delta = 0;
  int begin = 0;
  int end = 0;
  bool ended = false;
  Linearizations::Answer answer;
};

// Returns the sum behind a call; nullopt: the call cannot give its answer. Written apart from the tested code.
std::optional<State> done(const Call& call, State sum) {
  const powercut_status said = call.answer.status;
  if (call.ended && (said == POWERCUT_FULL || said == POWERCUT_UNSUPPORTED)) return sum;
  if (call.kind == OpKind::kIncrement) {
    if (call.ended && said != POWERCUT_OK) return std::nullopt;
    return sum + call.delta;
  }
  if (call.ended && said != (sum == 0 ? POWERCUT_NOT_FOUND : POWERCUT_OK)) return std::nullopt;
  if (call.kind == OpKind::kErase) return 0;
  if (call.ended && said == POWERCUT_OK && call.answer.found != sum) return std::nullopt;
  return sum;
}

std::set<State> by_all_orders(const std::vector<Call>& calls, State initial) {
  std::set<State> out;
  powercut::testing::for_each_order(calls, [&](const std::vector<size_t>& order) {
    std::optional<State> sum = initial;
    for (size_t i = 0; sum && i < order.size(); ++i) sum = done(calls[order[i]], *sum);
    if (sum) out.insert(*sum);
  });
  return out;
}

// Begins and ends in any order, and answers of which most are what some order would give.
std::vector<Call> draw(std::mt19937* random, State initial) {
  const auto below = [random](int end) { return std::uniform_int_distribution<int>(0, end - 1)(*random); };
  std::vector<Call> out(static_cast<size_t>(1 + below(5)));
  std::vector<int> instants(2 * out.size());
  std::iota(instants.begin(), instants.end(), 0);
  std::shuffle(instants.begin(), instants.end(), *random);
  constexpr OpKind kKinds[] = {OpKind::kIncrement, OpKind::kIncrement, OpKind::kErase, OpKind::kLookup};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [begin, end] = std::minmax(instants[2 * i], instants[2 * i + 1]);
    out[i] = {kKinds[below(4)], below(7) - 3, begin, end, below(4) != 0, {}};
  }
  std::vector<std::pair<int, Call*>> order;  // an instant within each
  for (Call& call : out) order.emplace_back(call.begin * 100 + below((call.end - call.begin) * 100), &call);
  std::sort(order.begin(), order.end());
  State sum = initial;
  for (const auto& [instant, call] : order) {
    call->answer = {sum == 0 ? POWERCUT_NOT_FOUND : POWERCUT_OK,
                    call->kind == OpKind::kLookup && sum != 0 ? sum : kAbsent};
    if (call->kind == OpKind::kIncrement) call->answer = {POWERCUT_OK};
    if (below(12) == 0) call->answer = {below(2) == 0 ? POWERCUT_FULL : POWERCUT_UNSUPPORTED};
    if (below(12) == 0 && call->kind == OpKind::kLookup) call->answer = {POWERCUT_OK, sum + 1};
    if (call->answer.status != POWERCUT_FULL && call->answer.status != POWERCUT_UNSUPPORTED) {
      sum = call->kind == OpKind::kIncrement ? sum + call->delta : call->kind == OpKind::kErase ? 0 : sum;
    }
  }
  return out;
}

TEST(CountersOfThreads, LegalIsWhatAnyOrderLeaves) {
  std::mt19937 random(1);
  int explained = 0, unexplained = 0;
  for (int round = 0; round < 20'000; ++round) {
    const State initial = static_cast<State>(random() % 3);
    const std::vector<Call> calls = draw(&random, initial);
    Linearizations key({initial}, /*counts=*/true);
    std::vector<uint32_t> numbers(calls.size());
    powercut::testing::for_each_instant(
        calls, [&](size_t i) { numbers[i] = key.begin(calls[i].kind, calls[i].delta); },
        [&](size_t i) { key.end(numbers[i], calls[i].answer); });
    ASSERT_EQ(key.states(), by_all_orders(calls, initial)) << "round " << round;
    ++(key.states().empty() ? unexplained : explained);
  }
  EXPECT_GT(explained, 5000);
  EXPECT_GT(unexplained, 500);
}

TEST(CountersOfThreads, AnAcknowledgedDifferenceIsInEverySumAndAPendingOneInSome) {
  Linearizations key({4}, /*counts=*/true);
  const uint32_t one = key.begin(OpKind::kIncrement, 1);
  key.begin(OpKind::kIncrement, 2);
  EXPECT_THAT(key.states(), ElementsAre(4, 5, 6, 7));
  key.end(one, {POWERCUT_OK});
  EXPECT_THAT(key.states(), ElementsAre(5, 7));
  key.end(key.begin(OpKind::kLookup), {POWERCUT_OK, 7});
  EXPECT_THAT(key.states(), ElementsAre(7));
  key.end(key.begin(OpKind::kLookup), {POWERCUT_OK, 5});
  EXPECT_THAT(key.states(), IsEmpty());
}

TEST(CountersOfThreads, WhatIsNotSupportedHasNoEffect) {
  Linearizations counter({4}, /*counts=*/true), key({4});
  const uint32_t erased = counter.begin(OpKind::kErase), updated = key.begin(OpKind::kUpdate, 5);
  counter.end(erased, {POWERCUT_UNSUPPORTED});
  key.end(updated, {POWERCUT_UNSUPPORTED});
  EXPECT_THAT(counter.states(), ElementsAre(4));
  EXPECT_THAT(key.states(), ElementsAre(4));
}

// ---- the history -----------------------------------------------------------------------------------

std::span<const uint8_t> span_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class Counters {
 public:
  void begin(uint32_t thread, OpKind kind, int64_t delta = 0) {
    apply(EventKind::kOpBegin, thread, static_cast<uint8_t>(kind),
          kind == OpKind::kIncrement ? bytes_of_sum(delta) : "");
  }
  void end(uint32_t thread, powercut_status status, int64_t found = 0) {
    apply(EventKind::kOpEnd, thread, static_cast<uint8_t>(status), found == 0 ? "" : bytes_of_sum(found));
  }
  void fork() { apply(EventKind::kFork, 0, 2, ""); }
  std::vector<int64_t> legal() const {
    std::vector<int64_t> out;
    for (const int32_t state : key().all_legal()) out.push_back(key().sum(state));
    return out;
  }
  const KeyHistory& key() const { return history.keys()[0]; }
  // The invariant that a lookup breaks which finds `sum` after a power cut.
  std::string judged(int64_t sum, bool read_uncommitted = false) const {
    const std::string answer =
        sum == 0 ? std::string(1, static_cast<char>(POWERCUT_NOT_FOUND)) : '\0' + bytes_of_sum(sum);
    powercut_traits traits{};
    traits.counts = 1;
    traits.read_uncommitted = read_uncommitted ? 1 : 0;
    const auto violation = judge_query(history, traits, query_id(QueryKind::kLookup, 0), answer);
    return violation ? violation->invariant : "";
  }

  History history{{.buffered = false, .counts = true}};

 private:
  void apply(EventKind kind, uint32_t thread, uint8_t code, const std::string& value) {
    const std::string name = "a key of a counter";
    Event event;
    event.kind = kind;
    event.thread = thread;
    event.code = code;
    if (kind == EventKind::kOpBegin) event.key = span_of(name);
    event.value = span_of(value);
    history.apply(event);
  }
};

TEST(CountersOfThreads, EveryScheduleBeginsWhereTheThreadsDid) {
  Counters counters;
  counters.begin(0, OpKind::kIncrement, 4);
  counters.end(0, POWERCUT_OK);
  counters.fork();
  counters.begin(1, OpKind::kErase);
  counters.begin(2, OpKind::kLookup);
  counters.end(2, POWERCUT_NOT_FOUND);
  EXPECT_THAT(counters.legal(), ElementsAre(0));
  EXPECT_EQ(counters.judged(4), "unpersisted-read");
  EXPECT_EQ(counters.judged(4, /*read_uncommitted=*/true), "");
  counters.end(1, POWERCUT_OK);
  EXPECT_EQ(counters.judged(4), "double-count");
  counters.history.go_back();
  EXPECT_THAT(counters.legal(), ElementsAre(4));
  EXPECT_FALSE(counters.history.in_flight());
  counters.begin(1, OpKind::kIncrement, 1);
  counters.begin(2, OpKind::kIncrement, 2);
  EXPECT_THAT(counters.legal(), UnorderedElementsAre(4, 5, 6, 7));
  counters.end(1, POWERCUT_OK);
  counters.end(2, POWERCUT_OK);
  EXPECT_THAT(counters.legal(), ElementsAre(7));
  EXPECT_EQ(counters.judged(5), "lost-increment");
  EXPECT_TRUE(counters.history.unexplained().empty());
  counters.begin(2, OpKind::kLookup);
  counters.end(2, POWERCUT_OK, 5);
  EXPECT_THAT(counters.history.unexplained(), ElementsAre(0));
}

TEST(CountersOfThreads, AnIncrementUnderWayGoesOnBesideAnother) {
  Counters counters;
  counters.begin(1, OpKind::kIncrement, 4);
  counters.begin(2, OpKind::kIncrement, 1);
  EXPECT_THAT(counters.legal(), UnorderedElementsAre(0, 1, 4, 5));
  counters.end(1, POWERCUT_OK);
  EXPECT_THAT(counters.legal(), UnorderedElementsAre(4, 5));
}

}  // namespace
}  // namespace powercut::counters_of_threads
