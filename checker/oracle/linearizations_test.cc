// Contents of a key after a power cut: by hand, against all orders of small histories, and beside History.
#include "checker/oracle/linearizations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "checker/oracle/history.h"
#include "checker/oracle/test_orders.h"
#include "powercut/target.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Answer = Linearizations::Answer;
using State = Linearizations::State;

TEST(Linearizations, OneThread) {
  Linearizations key;
  EXPECT_THAT(key.states(), ElementsAre(kAbsent));
  const uint32_t insert = key.begin(OpKind::kInsert, 1);
  EXPECT_THAT(key.states(), ElementsAre(kAbsent, 1));
  key.end(insert, {POWERCUT_OK});
  EXPECT_THAT(key.states(), ElementsAre(1));
  key.end(key.begin(OpKind::kUpdate, 2), {POWERCUT_FULL});
  EXPECT_THAT(key.states(), ElementsAre(1));
  key.begin(OpKind::kErase);
  key.cut();
  EXPECT_THAT(key.states(), ElementsAre(kAbsent, 1));
  key.end(key.begin(OpKind::kLookup), {POWERCUT_OK, 1});  // the table has made up its mind
  EXPECT_THAT(key.states(), ElementsAre(1));
}

TEST(Linearizations, WhatALookupReturnedHasHappened) {
  Linearizations key;
  key.begin(OpKind::kInsert, 1);
  const uint32_t lookup = key.begin(OpKind::kLookup);
  EXPECT_THAT(key.states(), ElementsAre(kAbsent, 1));
  key.end(lookup, {POWERCUT_OK, 1});
  EXPECT_THAT(key.states(), ElementsAre(1)) << "unpersisted-read: absence is not legal though the insert has not ended";
}

TEST(Linearizations, ALookupThatBeganEarlierMayHaveReadWhatIsGone) {
  Linearizations key;
  const uint32_t lookup = key.begin(OpKind::kLookup);
  key.end(key.begin(OpKind::kInsert, 1), {POWERCUT_OK});
  key.end(key.begin(OpKind::kErase), {POWERCUT_OK});
  Linearizations late = key;
  key.end(lookup, {POWERCUT_OK, 1});
  EXPECT_THAT(key.states(), ElementsAre(kAbsent));
  late.end(late.begin(OpKind::kLookup), {POWERCUT_OK, 1});  // began after the erase had ended
  EXPECT_THAT(late.states(), IsEmpty());
}

TEST(Linearizations, OfTwoInsertsAtOnceOneFindsTheOther) {
  for (const bool both : {false, true}) {
    Linearizations key;
    const uint32_t a = key.begin(OpKind::kInsert, 1), b = key.begin(OpKind::kInsert, 2);
    key.end(a, {POWERCUT_OK});
    EXPECT_THAT(key.states(), ElementsAre(1));
    key.end(b, {both ? POWERCUT_OK : POWERCUT_EXISTS});
    if (both) {
      EXPECT_THAT(key.states(), IsEmpty()) << "a duplicate";
    } else {
      EXPECT_THAT(key.states(), ElementsAre(1));
    }
  }
}

TEST(Linearizations, UpdatesAtOnceMayEndInEitherOrder) {
  Linearizations key({0});
  const uint32_t a = key.begin(OpKind::kUpdate, 1), b = key.begin(OpKind::kUpdate, 2);
  EXPECT_THAT(key.states(), ElementsAre(0, 1, 2));
  key.end(a, {POWERCUT_OK});
  EXPECT_THAT(key.states(), ElementsAre(1, 2));
  key.end(b, {POWERCUT_OK});
  EXPECT_THAT(key.states(), ElementsAre(1, 2));
}

// ---- all orders ------------------------------------------------------------------------------------

struct Call {
  OpKind kind{};
  int32_t value = kAbsent;
  int begin = 0;
  int end = 0;
  bool ended = false;
  Answer answer;
};

// The effect of a call on a key that holds `state`; nullopt: not with this answer. Written apart from the code above.
std::optional<int32_t> done(const Call& call, int32_t state) {
  const bool there = state != kAbsent;
  const powercut_status said = call.answer.status;
  if (call.ended && said == POWERCUT_FULL) return state;
  std::optional<int32_t> then;
  powercut_status would = POWERCUT_OK;
  if (call.kind == OpKind::kLookup) {
    would = there ? POWERCUT_OK : POWERCUT_NOT_FOUND;
    then = state;
    if (call.ended && there && call.answer.found != state) return std::nullopt;
  } else if (call.kind == OpKind::kInsert) {
    would = there ? POWERCUT_EXISTS : POWERCUT_OK;
    then = there ? state : call.value;
  } else {
    would = there ? POWERCUT_OK : POWERCUT_NOT_FOUND;
    then = !there ? state : call.kind == OpKind::kErase ? kAbsent : call.value;
  }
  if (call.ended && said != would) return std::nullopt;
  return then;
}

// Every order of every choice of the calls that stands for the answers, by trying them all.
std::set<State> by_all_orders(const std::vector<Call>& calls, int32_t initial) {
  std::set<State> out;
  testing::for_each_order(calls, [&](const std::vector<size_t>& order) {
    std::optional<int32_t> state = initial;
    for (size_t i = 0; state && i < order.size(); ++i) state = done(calls[order[i]], *state);
    if (state) out.insert(*state);
  });
  return out;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine_); }
  // Calls with begins and ends in any order, and answers of which most are what some order would give.
  std::vector<Call> calls(int32_t initial) {
    std::vector<Call> out(static_cast<size_t>(1 + below(5)));
    std::vector<int> instants(2 * out.size());
    std::iota(instants.begin(), instants.end(), 0);
    std::shuffle(instants.begin(), instants.end(), engine_);
    constexpr OpKind kKinds[] = {OpKind::kInsert, OpKind::kUpdate, OpKind::kErase, OpKind::kLookup};
    for (size_t i = 0; i < out.size(); ++i) {
      const auto [begin, end] = std::minmax(instants[2 * i], instants[2 * i + 1]);
      out[i] = {kKinds[below(4)], static_cast<int32_t>(i) + 1, begin, end, below(4) != 0, {}};
    }
    answer(&out, initial);
    return out;
  }

 private:
  void answer(std::vector<Call>* calls, int32_t initial) {
    std::vector<std::pair<int, Call*>> order;  // an instant within each
    for (Call& call : *calls) order.emplace_back(call.begin * 100 + below((call.end - call.begin) * 100), &call);
    std::sort(order.begin(), order.end());
    int32_t state = initial;
    for (const auto& [instant, call] : order) {
      if (!call->ended && below(2) == 0) continue;
      if (call->ended && below(12) == 0 && call->kind != OpKind::kLookup) {
        call->answer = {POWERCUT_FULL};
        continue;
      }
      const bool there = state != kAbsent;
      const bool insert = call->kind == OpKind::kInsert, lookup = call->kind == OpKind::kLookup;
      call->answer = {there == insert ? (insert ? POWERCUT_EXISTS : POWERCUT_NOT_FOUND) : POWERCUT_OK,
                      lookup && there ? state : kAbsent};
      if (!there && !insert) call->answer.status = POWERCUT_NOT_FOUND;
      if (there && !insert) call->answer.status = POWERCUT_OK;
      const bool wrong = call->ended && below(10) == 0;
      const Call truth = *call;
      Call alone = truth;
      alone.ended = false;
      state = *done(alone, state);
      if (!wrong) continue;
      constexpr powercut_status kSaid[] = {POWERCUT_OK, POWERCUT_NOT_FOUND, POWERCUT_EXISTS};
      call->answer = {kSaid[below(insert ? 3 : 2)], kAbsent};
      if (lookup && call->answer.status == POWERCUT_OK) call->answer.found = below(6);
    }
  }

  std::mt19937 engine_;
};

std::set<State> by_configurations(const std::vector<Call>& calls, int32_t initial) {
  Linearizations key({initial});
  std::vector<uint32_t> numbers(calls.size());
  testing::for_each_instant(
      calls, [&](size_t i) { numbers[i] = key.begin(calls[i].kind, calls[i].value); },
      [&](size_t i) { key.end(numbers[i], calls[i].answer); });
  return key.states();
}

TEST(Linearizations, AgreeWithAllOrdersOfSmallHistories) {
  Random random(7);
  int explained = 0, several = 0, none = 0;
  for (int round = 0; round < 100'000; ++round) {
    const int32_t initial = random.below(2) == 0 ? kAbsent : 0;
    const std::vector<Call> calls = random.calls(initial);
    const std::set<State> expected = by_all_orders(calls, initial);
    ASSERT_EQ(by_configurations(calls, initial), expected) << "round " << round;
    (expected.empty() ? none : expected.size() > 1 ? several : explained) += 1;
  }
  // Each kind of outcome is common: else agreeing would say little.
  EXPECT_GT(explained, 10'000);
  EXPECT_GT(several, 10'000);
  EXPECT_GT(none, 5'000);
}

// ---- the digest -------------------------------------------------------------------------------------

// A search that takes two states for one does not follow what comes of the second.
TEST(Linearizations, TheDigestTellsWhatAnOperationUnderWayHasToAnswer) {
  std::vector<Linearizations> keys;
  std::vector<uint32_t> lookups;
  for (const State held : {State{0}, State{1}}) {
    Linearizations& key = keys.emplace_back(std::set<State>{held});
    lookups.push_back(key.begin(OpKind::kLookup));
    key.end(key.begin(OpKind::kErase), {POWERCUT_OK});
    EXPECT_THAT(key.states(), ElementsAre(kAbsent));
  }
  EXPECT_NE(keys[0].digest(), keys[1].digest());
  for (size_t i = 0; i < keys.size(); ++i) keys[i].end(lookups[i], {POWERCUT_OK, 0});
  EXPECT_THAT(keys[0].states(), ElementsAre(kAbsent));
  EXPECT_THAT(keys[1].states(), IsEmpty()) << "the lookup cannot have found what was never there";
}

// Returns the states that the key may have, now and after each answer that an operation under way may give.
std::vector<std::set<State>> prospects(const Linearizations& key, const std::set<uint32_t>& under_way) {
  std::vector<std::set<State>> out = {key.states()};
  for (const uint32_t number : under_way) {
    std::vector<Answer> answers = {{POWERCUT_OK}, {POWERCUT_NOT_FOUND}, {POWERCUT_EXISTS}, {POWERCUT_FULL}};
    for (State found = 0; found < 6; ++found) answers.push_back({POWERCUT_OK, found});
    for (const Answer& answer : answers) {
      Linearizations then = key;
      then.end(number, answer);
      out.push_back(then.states());
    }
  }
  return out;
}

TEST(Linearizations, EqualDigestsHaveEqualProspects) {
  Random random(9);
  std::map<uint64_t, std::vector<std::set<State>>> known;
  int met_again = 0;
  for (int round = 0; round < 2'000; ++round) {
    const int32_t initial = random.below(2) == 0 ? kAbsent : 0;
    const std::vector<Call> calls = random.calls(initial);
    Linearizations key({initial});
    std::vector<uint32_t> numbers(calls.size());
    std::set<uint32_t> under_way;
    const auto compare = [&] {
      const auto [at, is_new] = known.try_emplace(key.digest(), prospects(key, under_way));
      met_again += !is_new;
      ASSERT_EQ(at->second, prospects(key, under_way)) << "round " << round;
    };
    testing::for_each_instant(
        calls,
        [&](size_t i) {
          under_way.insert(numbers[i] = key.begin(calls[i].kind, calls[i].value));
          compare();
        },
        [&](size_t i) {
          key.end(numbers[i], calls[i].answer);
          under_way.erase(numbers[i]);
          compare();
        });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(met_again, 1'000);
}

// ---- beside History, which keeps two states of one thread ------------------------------------------

std::span<const uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Linearizations, SayOfOneThreadWhatHistorySays) {
  Random random(8);
  for (int round = 0; round < 20'000; ++round) {
    History history;
    Linearizations key;
    int32_t written = 0;
    for (int step = 0, last = 1 + random.below(8); step < last; ++step) {
      constexpr OpKind kKinds[] = {OpKind::kInsert, OpKind::kUpdate, OpKind::kErase, OpKind::kLookup};
      const std::set<State> before = key.states();
      // The recorder looks the key up after a power cut, before anything else: History keeps two states, not three.
      const OpKind kind = before.size() > 1 ? OpKind::kLookup : kKinds[random.below(4)];
      // As the engine's workloads: an insert of what may be there, and an update or erase of what may be absent, are
      // refused.
      const bool maybe_there = *before.rbegin() != kAbsent, maybe_absent = before.contains(kAbsent);
      if (kind == OpKind::kInsert && maybe_there) continue;
      if ((kind == OpKind::kUpdate || kind == OpKind::kErase) && maybe_absent) continue;
      const bool writes = kind == OpKind::kInsert || kind == OpKind::kUpdate;
      const std::string name = "k", value = "value " + std::to_string(written);
      Event event;
      event.kind = EventKind::kOpBegin;
      event.code = static_cast<uint8_t>(kind);
      event.key = bytes(name);
      if (writes) event.value = bytes(value);
      history.apply(event);
      const uint32_t number = key.begin(kind, writes ? written++ : kAbsent);
      const auto same = [&] {
        const KeyHistory& kept = history.keys().front();
        std::set<State> legal = {kept.acknowledged};
        if (kept.possible) legal.insert(*kept.possible);
        return legal == key.states();
      };
      ASSERT_TRUE(same()) << "round " << round;
      if (kind != OpKind::kLookup && random.below(4) == 0) {
        event = {};
        event.kind = EventKind::kCut;
        history.apply(event);
        key.cut();
        ASSERT_TRUE(same()) << "round " << round;
        continue;
      }
      Answer answer;
      std::string found;
      if (kind == OpKind::kLookup) {
        auto state = before.begin();
        std::advance(state, random.below(static_cast<int>(before.size())));
        answer = *state == kAbsent ? Answer{POWERCUT_NOT_FOUND} : Answer{POWERCUT_OK, *state};
        if (*state != kAbsent) found = "value " + std::to_string(*state);
      } else if (random.below(6) == 0) {
        answer = {POWERCUT_FULL};
      }
      event = {};
      event.kind = EventKind::kOpEnd;
      event.code = static_cast<uint8_t>(answer.status);
      event.value = bytes(found);
      history.apply(event);
      key.end(number, answer);
      ASSERT_TRUE(same()) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace powercut
