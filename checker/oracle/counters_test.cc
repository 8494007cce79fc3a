// The history of counters against the obvious way: all sums that a beginning of a key's operations leaves.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "checker/oracle/history.h"
#include "checker/oracle/invariants.h"

namespace powercut {
namespace {

std::span<const uint8_t> span_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class Counting {
 public:
  explicit Counting(bool buffered) : history_({.buffered = buffered, .counts = true}), buffered_(buffered) {}

  void begin(OpKind kind, uint64_t key, int64_t delta = 0) {
    const std::string name = key_name(key), value = kind == OpKind::kIncrement ? bytes_of_sum(delta) : "";
    Event event;
    event.kind = EventKind::kOpBegin;
    event.code = static_cast<uint8_t>(kind);
    event.key = span_of(name);
    event.value = span_of(value);
    history_.apply(event);
    sums_.try_emplace(key, std::vector<int64_t>{0});
    running_ = key;
    next_ = kind == OpKind::kIncrement ? std::optional(sums_[key].back() + delta)
            : kind == OpKind::kErase   ? std::optional<int64_t>(0)
                                       : std::nullopt;
  }
  void begin_sync() {
    Event event;
    event.kind = EventKind::kOpBegin;
    event.code = static_cast<uint8_t>(OpKind::kMaintain);
    event.text = "sync";
    history_.apply(event);
    running_.reset();
    next_.reset();
    syncs_ = true;
  }
  void end(powercut_status status, int64_t found = 0) {
    const std::string value = found == 0 ? "" : bytes_of_sum(found);
    Event event;
    event.kind = EventKind::kOpEnd;
    event.code = static_cast<uint8_t>(status);
    event.value = span_of(value);
    history_.apply(event);
    if (next_ && status == POWERCUT_OK) {
      if (!buffered_) sums_[*running_].clear();
      sums_[*running_].push_back(*next_);
    }
    if (syncs_ && status == POWERCUT_OK) {
      for (auto& [key, sums] : sums_) sums = {sums.back()};
    }
    running_.reset();
    next_.reset();
    syncs_ = false;
  }
  // The obvious way, and the history's.
  void check() const {
    for (const auto& [key, sums] : sums_) {
      std::set<int64_t> expected(sums.begin(), sums.end());
      if (running_ == key && next_) expected.insert(*next_);
      const KeyHistory& known = history_.keys()[*history_.find(key_name(key))];
      std::set<int64_t> legal;
      for (const int32_t state : known.all_legal()) {
        legal.insert(state == kAbsent ? 0 : sum_of(known.written[state]).value());
      }
      ASSERT_EQ(legal, expected) << "key " << key;
      ASSERT_GE(known.version, known.tightenings);
    }
  }
  int64_t now(uint64_t key) const {
    const auto at = sums_.find(key);
    return at == sums_.end() ? 0 : at->second.back();
  }
  History& history() { return history_; }

 private:
  static std::string key_name(uint64_t key) { return "key" + std::to_string(10000 + key); }

  History history_;
  const bool buffered_;
  std::map<uint64_t, std::vector<int64_t>> sums_;  // of each key, since the last sync; the last is what it is now
  std::optional<uint64_t> running_;
  std::optional<int64_t> next_;
  bool syncs_ = false;
};

TEST(Counters, LegalIsWhatABeginningOfTheOperationsLeaves) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Counting counting(round % 2 == 0);
    for (int step = 0; step < 30; ++step) {
      const uint64_t key = random() % 3, kind = random() % 8;
      if (kind == 0) {
        counting.begin_sync();
      } else if (kind == 1) {
        counting.begin(OpKind::kErase, key);
      } else if (kind == 2) {
        counting.begin(OpKind::kLookup, key);
      } else {
        counting.begin(OpKind::kIncrement, key, static_cast<int64_t>(random() % 7) - 3);
      }
      ASSERT_NO_FATAL_FAILURE(counting.check());
      const int64_t now = counting.now(key);
      if (kind == 2) {
        counting.end(now == 0 ? POWERCUT_NOT_FOUND : POWERCUT_OK, now);
      } else {
        counting.end(random() % 6 == 0 ? POWERCUT_FULL : POWERCUT_OK);
      }
      ASSERT_NO_FATAL_FAILURE(counting.check());
    }
  }
}

// A state that was told of as gone is gone, and is told of once.
TEST(Counters, TellsOfWhatIsNotLegalAnyMore) {
  Counting counting(false);
  counting.begin(OpKind::kIncrement, 1, 5);
  EXPECT_TRUE(counting.history().tightened().empty());
  counting.end(POWERCUT_OK);
  EXPECT_EQ(counting.history().tightened().size(), 1u);
  counting.begin(OpKind::kLookup, 1);
  counting.end(POWERCUT_OK, 5);
  EXPECT_EQ(counting.history().tightened().size(), 1u);
}

std::string judged(Counting& counting, int64_t sum) {
  const std::string answer =
      sum == 0 ? std::string(1, static_cast<char>(POWERCUT_NOT_FOUND)) : '\0' + bytes_of_sum(sum);
  powercut_traits traits{};
  traits.counts = 1;
  const auto violation = judge_query(counting.history(), traits, query_id(QueryKind::kLookup, 0), answer);
  return violation ? violation->invariant : "";
}

TEST(Counters, AWrongSumCountsTooLittleOrTooMuch) {
  Counting counting(false);
  counting.begin(OpKind::kIncrement, 1, 5);
  counting.end(POWERCUT_OK);
  counting.begin(OpKind::kIncrement, 1, 2);
  EXPECT_EQ(judged(counting, 5), "");
  EXPECT_EQ(judged(counting, 7), "");
  EXPECT_EQ(judged(counting, 0), "lost-increment");
  EXPECT_EQ(judged(counting, 4), "lost-increment");
  EXPECT_EQ(judged(counting, 9), "double-count");
  counting.end(POWERCUT_OK);
  counting.begin(OpKind::kErase, 1);
  counting.end(POWERCUT_OK);
  counting.begin(OpKind::kIncrement, 1, -4);
  counting.end(POWERCUT_OK);
  EXPECT_EQ(judged(counting, -4), "");
  EXPECT_EQ(judged(counting, -8), "double-count");
  EXPECT_EQ(judged(counting, -1), "lost-increment");
}

}  // namespace
}  // namespace powercut
