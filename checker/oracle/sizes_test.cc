// Histories whose values differ in size and may coincide, beside the obvious way to know what is legal.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "checker/oracle/history.h"
#include "checker/oracle/invariants.h"
#include "checker/oracle/queries.h"
#include "powercut/target.h"

namespace powercut {
namespace {

std::span<const uint8_t> span_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// A key's contents as a set of texts: the contents that a power cut at this instant may leave. An operation under way
// may have happened or not; an acknowledged operation has happened.
class PlainKey {
 public:
  using Contents = std::optional<std::string>;  // nothing: the key is absent

  void begin(OpKind kind, const std::string& value) {
    before_ = now_;
    after_.clear();
    for (const Contents& held : now_) {
      if (kind == OpKind::kErase) after_.insert(std::nullopt);
      if (kind == OpKind::kInsert || (kind == OpKind::kUpdate && held)) after_.insert(value);
      if (kind == OpKind::kUpdate && !held) after_.insert(held);
    }
    now_.insert(after_.begin(), after_.end());
  }
  void end(bool done) { now_ = done ? after_ : before_; }
  void found(const Contents& contents) { now_ = {contents}; }
  const std::set<Contents>& legal() const { return now_; }

 private:
  std::set<Contents> now_ = {std::nullopt}, before_, after_;
};

class HistoryOfSizes {
 public:
  explicit HistoryOfSizes(uint32_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return random_() % n; }
  // Texts that begin alike, so that a torn length of one is another one.
  std::string value() {
    std::string text;
    for (uint32_t size = 1 + below(4); text.size() < size;) text += "ab"[below(2)];
    return text;
  }

  void begin(OpKind kind, const std::string& value) {
    Event event;
    event.kind = EventKind::kOpBegin;
    event.code = static_cast<uint8_t>(kind);
    event.key = span_of(kKey);
    event.value = span_of(value);
    history_.apply(event);
    if (kind != OpKind::kLookup) plain_.begin(kind, value);
  }
  void end(powercut_status status, std::string_view value = "") {
    Event event;
    event.kind = EventKind::kOpEnd;
    event.code = static_cast<uint8_t>(status);
    event.value = span_of(value);
    history_.apply(event);
  }
  void cut() {
    Event event;
    event.kind = EventKind::kCut;
    history_.apply(event);
  }

  // Does an operation, which is acknowledged, refused for want of room, or interrupted and then looked for.
  void step() {
    const bool there = plain_.legal() != std::set<PlainKey::Contents>{std::nullopt};
    const OpKind kind = !there ? OpKind::kInsert : below(3) == 0 ? OpKind::kErase : OpKind::kUpdate;
    begin(kind, kind == OpKind::kErase ? "" : value());
    agrees();
    const uint32_t how = below(kind == OpKind::kErase ? 2 : 3);
    if (how == 0) {
      const std::vector<PlainKey::Contents> left(plain_.legal().begin(), plain_.legal().end());
      const PlainKey::Contents found = left[below(static_cast<uint32_t>(left.size()))];
      cut();
      agrees();
      begin(OpKind::kLookup, "");
      end(found ? POWERCUT_OK : POWERCUT_NOT_FOUND, found.value_or(""));
      plain_.found(found);
    } else {
      end(how == 1 ? POWERCUT_OK : POWERCUT_FULL);
      plain_.end(how == 1);
    }
    agrees();
  }

 private:
  // Every text of up to five bytes, and that there is none.
  void agrees() {
    EXPECT_EQ(is_accepted(std::nullopt), plain_.legal().contains(std::nullopt));
    for (uint32_t size = 0; size <= 5; ++size) {
      for (uint32_t bits = 0; bits < 1u << size; ++bits) {
        std::string text;
        for (uint32_t i = 0; i < size; ++i) text += "ab"[bits >> i & 1];
        ASSERT_EQ(is_accepted(text), plain_.legal().contains(text)) << "'" << text << "'";
      }
    }
  }
  bool is_accepted(const PlainKey::Contents& contents) const {
    std::string result(1, static_cast<char>(contents ? POWERCUT_OK : POWERCUT_NOT_FOUND));
    return !judge_query(history_, kTraits, query_id(QueryKind::kLookup, *history_.find(kKey)),
                        result + contents.value_or(""));
  }

  static constexpr const char* kKey = "a key of its own";
  static constexpr powercut_traits kTraits = {};
  std::mt19937 random_;
  History history_;
  PlainKey plain_;
};

// The long test asks for more of them (checker/CMakeLists.txt).
uint32_t histories() {
  const char* given = std::getenv("POWERCUT_HISTORIES");
  return given == nullptr ? 2'000 : static_cast<uint32_t>(std::stoul(given));
}

TEST(Sizes, HistoriesOfShortValuesAreJudgedAsTheObviousWayJudgesThem) {
  for (uint32_t seed = 0; seed < histories(); ++seed) {
    HistoryOfSizes history(seed);
    for (int i = 0; i < 8; ++i) history.step();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace powercut
