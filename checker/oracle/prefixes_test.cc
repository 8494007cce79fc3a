// The losses that a buffered target may have: by hand, and against all beginnings of all orders of small histories.
#include "checker/oracle/prefixes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker/oracle/test_orders.h"
#include "powercut/target.h"

namespace powercut {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using Answer = Prefixes::Answer;
using Table = Prefixes::Table;

TEST(Prefixes, OneThreadMayLoseWhatItDidLast) {
  Prefixes all;
  all.end(all.begin(OpKind::kInsert, 0, 1), {POWERCUT_OK});
  all.end(all.begin(OpKind::kInsert, 1, 2), {POWERCUT_OK});
  EXPECT_THAT(all.tables(), Optional(ElementsAre(Table{}, Table{1}, Table{1, 2})));
  const uint32_t sync = all.begin_sync();
  all.end(all.begin(OpKind::kErase, 0), {POWERCUT_OK});
  EXPECT_THAT(all.tables(), Optional(ElementsAre(Table{}, Table{kAbsent, 2}, Table{1}, Table{1, 2})));
  all.end(sync, {POWERCUT_OK});
  EXPECT_THAT(all.tables(), Optional(ElementsAre(Table{kAbsent, 2}, Table{1, 2})));
}

TEST(Prefixes, ASyncThatFailsKeepsNothing) {
  Prefixes all;
  all.end(all.begin(OpKind::kInsert, 0, 1), {POWERCUT_OK});
  all.end(all.begin_sync(), {POWERCUT_FULL});
  EXPECT_THAT(all.tables(), Optional(ElementsAre(Table{}, Table{1})));
}

TEST(Prefixes, AfterAPowerCutTheTableIsWhatWasKept) {
  Prefixes all;
  all.end(all.begin(OpKind::kInsert, 0, 1), {POWERCUT_OK});
  all.begin(OpKind::kErase, 0);
  all.cut();
  EXPECT_THAT(all.held(0), ElementsAre(kAbsent, 1));
  all.end(all.begin(OpKind::kLookup, 0), {POWERCUT_OK, 1});
  EXPECT_THAT(all.tables(), Optional(ElementsAre(Table{1})));
}

TEST(Prefixes, OperationsAtOnceMayBeKeptInEitherOrder) {
  Prefixes all;
  const uint32_t a = all.begin(OpKind::kInsert, 0, 1), b = all.begin(OpKind::kInsert, 1, 2);
  all.end(a, {POWERCUT_OK});
  all.end(b, {POWERCUT_OK});
  EXPECT_THAT(all.tables(), Optional(ElementsAre(Table{}, Table{kAbsent, 2}, Table{1}, Table{1, 2})));
}

TEST(Prefixes, OneThreadIsFollowedForSomeHundredKeys) {
  Prefixes all;
  for (uint32_t key = 0; key < 200; ++key) all.end(all.begin(OpKind::kInsert, key, 1), {POWERCUT_OK});
  EXPECT_EQ(all.tables()->size(), 201u);
  for (uint32_t key = 200; key < 600; ++key) all.end(all.begin(OpKind::kInsert, key, 1), {POWERCUT_OK});
  EXPECT_EQ(all.tables(), std::nullopt);
}

TEST(Prefixes, TooManyWaysAreNotFollowed) {
  Prefixes all;
  for (uint32_t key = 0; key < 16; ++key) all.begin(OpKind::kInsert, key, 1);
  EXPECT_EQ(all.tables(), std::nullopt);
}

// ---- all orders ------------------------------------------------------------------------------------

struct Step {
  OpKind kind{};  // kMaintain: a sync
  uint32_t key = 0;
  int32_t value = kAbsent;
  int begin = 0, end = 0;
  bool ended = false;
  Answer answer;
};

// Applies a call to the table; false: not with this answer. Written apart from the code above.
bool fits(const Step& call, Table* table) {
  int32_t& held = (*table)[call.key];
  const bool there = held != kAbsent;
  if (call.ended && call.answer.status == POWERCUT_FULL) return true;
  if (call.ended && call.answer.status != (call.kind == OpKind::kInsert ? there ? POWERCUT_EXISTS : POWERCUT_OK
                                           : there                      ? POWERCUT_OK
                                                                        : POWERCUT_NOT_FOUND)) {
    return false;
  }
  if (call.kind == OpKind::kLookup) return !call.ended || !there || call.answer.found == held;
  if (call.kind == OpKind::kInsert) {
    if (!there) held = call.value;
  } else if (there) {
    held = call.kind == OpKind::kErase ? kAbsent : call.value;
  }
  return true;
}

Table trimmed(Table table) {
  while (!table.empty() && table.back() == kAbsent) table.pop_back();
  return table;
}

// Every beginning of every order of every choice of the calls that stands for the answers, by trying them all.
std::set<Table> by_all_beginnings(const std::vector<Step>& calls, const std::vector<Step>& syncs) {
  std::set<Table> out;
  testing::for_each_order(calls, [&](const std::vector<size_t>& order) {
    Table table(2, kAbsent);
    std::vector<Table> after = {table};
    for (const size_t i : order) {
      if (!fits(calls[i], &table)) return;
      after.push_back(table);
    }
    for (size_t kept = 0; kept < after.size(); ++kept) {
      bool holds = true;
      for (const Step& sync : syncs) {
        if (!sync.ended || sync.answer.status != POWERCUT_OK) continue;
        for (size_t i = kept; i < order.size(); ++i) {
          holds = holds && !(calls[order[i]].ended && calls[order[i]].end < sync.begin);
        }
      }
      if (holds) out.insert(trimmed(after[kept]));
    }
  });
  return out;
}

class Histories {
 public:
  explicit Histories(uint32_t seed) : engine_(seed) {}
  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(engine_); }
  // Calls and syncs with begins and ends in any order, and answers of which most are what some order would give.
  void history(std::vector<Step>* calls, std::vector<Step>* syncs) {
    calls->assign(static_cast<size_t>(1 + below(4)), {});
    syncs->assign(static_cast<size_t>(below(3)), {});
    std::vector<int> instants(2 * (calls->size() + syncs->size()));
    std::iota(instants.begin(), instants.end(), 0);
    // Half of the histories are those of one thread.
    if (below(2) == 0) std::shuffle(instants.begin(), instants.end(), engine_);
    std::vector<Step*> all;
    for (Step& call : *calls) all.push_back(&call);
    for (Step& sync : *syncs) all.push_back(&sync);
    std::shuffle(all.begin(), all.end(), engine_);
    constexpr OpKind kKinds[] = {OpKind::kInsert, OpKind::kUpdate, OpKind::kErase, OpKind::kLookup};
    for (size_t i = 0; i < all.size(); ++i) {
      const auto [begin, end] = std::minmax(instants[2 * i], instants[2 * i + 1]);
      *all[i] = {kKinds[below(4)],
                 static_cast<uint32_t>(below(2)),
                 static_cast<int32_t>(i) + 1,
                 begin,
                 end,
                 below(4) != 0,
                 {}};
    }
    for (Step& sync : *syncs) {
      sync.kind = OpKind::kMaintain;
      sync.answer = {below(4) == 0 ? POWERCUT_FULL : POWERCUT_OK};
    }
    answer(calls);
  }

 private:
  void answer(std::vector<Step>* calls) {
    std::vector<std::pair<int, Step*>> order;  // an instant within each
    for (Step& call : *calls) order.emplace_back(call.begin * 100 + below((call.end - call.begin) * 100), &call);
    std::sort(order.begin(), order.end());
    Table table(2, kAbsent);
    for (const auto& [instant, call] : order) {
      if (!call->ended && below(2) == 0) continue;
      constexpr powercut_status kSaid[] = {POWERCUT_OK, POWERCUT_NOT_FOUND, POWERCUT_EXISTS, POWERCUT_FULL};
      for (const powercut_status status : kSaid) {
        const bool found = call->kind == OpKind::kLookup && status == POWERCUT_OK;
        call->answer = {below(30) == 0 ? POWERCUT_FULL : status, found ? table[call->key] : kAbsent};
        Table then = table;
        if (!fits(*call, &then)) continue;
        table = then;
        // Which may be wrong.
        if (below(12) == 0) call->answer = {kSaid[below(3)]};
        break;
      }
    }
  }

  std::mt19937 engine_;
};

std::set<Table> by_prefixes(const std::vector<Step>& calls, const std::vector<Step>& syncs) {
  std::vector<Step> all = calls;
  all.insert(all.end(), syncs.begin(), syncs.end());
  Prefixes prefixes;
  std::vector<uint32_t> numbers(all.size());
  testing::for_each_instant(
      all,
      [&](size_t i) {
        const bool is_sync = all[i].kind == OpKind::kMaintain;
        numbers[i] = is_sync ? prefixes.begin_sync() : prefixes.begin(all[i].kind, all[i].key, all[i].value);
      },
      [&](size_t i) { prefixes.end(numbers[i], all[i].answer); });
  return prefixes.tables().value();
}

TEST(Prefixes, AgreeWithAllBeginningsOfAllOrdersOfSmallHistories) {
  Histories random(9);
  int one = 0, several = 0, none = 0, bound = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::vector<Step> calls, syncs;
    random.history(&calls, &syncs);
    const std::set<Table> expected = by_all_beginnings(calls, syncs);
    ASSERT_EQ(by_prefixes(calls, syncs), expected) << "round " << round;
    (expected.empty() ? none : expected.size() > 1 ? several : one) += 1;
    bound += by_all_beginnings(calls, {}) != expected;
  }
  // Each kind of outcome is common: else agreeing would say little.
  EXPECT_GT(one, 5'000);
  EXPECT_GT(several, 10'000);
  EXPECT_GT(none, 1'000);
  EXPECT_GT(bound, 5'000) << "histories in which a sync counts";
}

}  // namespace
}  // namespace powercut
