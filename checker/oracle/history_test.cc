// What is legal for a key, operation by operation and across the power cuts of a scenario.
#include "checker/oracle/history.h"

#include <gtest/gtest.h>

#include "powercut/target.h"

namespace powercut {
namespace {

std::span<const uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

class HistoryTest : public ::testing::Test {
 protected:
  void begin(OpKind kind, std::string_view key = "", std::string_view value = "") {
    Event event;
    event.kind = EventKind::kOpBegin;
    event.code = static_cast<uint8_t>(kind);
    event.key = bytes(key);
    event.value = bytes(value);
    history_.apply(event);
  }
  void end(powercut_status status = POWERCUT_OK, std::string_view value = "") {
    Event event;
    event.kind = EventKind::kOpEnd;
    event.code = static_cast<uint8_t>(status);
    event.value = bytes(value);
    history_.apply(event);
  }
  void run(OpKind kind, std::string_view key, std::string_view value = "", powercut_status status = POWERCUT_OK) {
    begin(kind, key, value);
    end(status);
  }
  void cut() {
    Event event;
    event.kind = EventKind::kCut;
    history_.apply(event);
  }
  // The legal states of a key: its values, "-" for absent.
  std::vector<std::string> legal(std::string_view name) const {
    const KeyHistory& key = history_.keys()[*history_.find(name)];
    std::vector<std::string> out;
    if (key.legal(kAbsent)) out.emplace_back("-");
    for (size_t i = 0; i < key.written.size(); ++i) {
      if (key.legal(static_cast<int32_t>(i))) out.push_back(key.written[i]);
    }
    return out;
  }
  using States = std::vector<std::string>;

  History history_;
};

TEST_F(HistoryTest, AnInsertIsPossibleUntilItIsAcknowledged) {
  begin(OpKind::kInsert, "k", "1");
  EXPECT_EQ(legal("k"), (States{"-", "1"}));
  EXPECT_TRUE(history_.in_flight());
  end();
  EXPECT_EQ(legal("k"), (States{"1"}));
  EXPECT_FALSE(history_.in_flight());
}

TEST_F(HistoryTest, AnUpdateIsOldOrNew) {
  run(OpKind::kInsert, "k", "1");
  begin(OpKind::kUpdate, "k", "2");
  EXPECT_EQ(legal("k"), (States{"1", "2"}));
  end();
  EXPECT_EQ(legal("k"), (States{"2"}));
}

TEST_F(HistoryTest, AnEraseIsThereOrGone) {
  run(OpKind::kInsert, "k", "1");
  begin(OpKind::kErase, "k");
  EXPECT_EQ(legal("k"), (States{"-", "1"}));
  end();
  EXPECT_EQ(legal("k"), (States{"-"}));
}

TEST_F(HistoryTest, WhatFailedChangedNothing) {
  run(OpKind::kInsert, "k", "1", POWERCUT_FULL);
  EXPECT_EQ(legal("k"), (States{"-"}));
  run(OpKind::kInsert, "k", "2");
  run(OpKind::kUpdate, "k", "3", POWERCUT_FULL);
  EXPECT_EQ(legal("k"), (States{"2"}));
  run(OpKind::kUpdate, "other", "4", POWERCUT_NOT_FOUND);
  EXPECT_EQ(legal("other"), (States{"-"}));
}

TEST_F(HistoryTest, AnUpdateOfAnAbsentKeyCannotHappen) {
  begin(OpKind::kUpdate, "k", "1");
  EXPECT_EQ(legal("k"), (States{"-"}));
}

TEST_F(HistoryTest, ACutLeavesOpenWhatItInterrupted) {
  run(OpKind::kInsert, "k", "1");
  begin(OpKind::kUpdate, "k", "2");
  cut();
  EXPECT_FALSE(history_.in_flight());
  EXPECT_EQ(legal("k"), (States{"1", "2"}));
  begin(OpKind::kOpen);
  end();
  EXPECT_EQ(legal("k"), (States{"1", "2"}));
}

TEST_F(HistoryTest, ALookupSettlesWhatACutLeftOpen) {
  for (const char* answer : {"1", "2"}) {
    history_ = History();
    run(OpKind::kInsert, "k", "1");
    begin(OpKind::kUpdate, "k", "2");
    cut();
    begin(OpKind::kLookup, "k");
    EXPECT_EQ(legal("k"), (States{"1", "2"}));
    end(POWERCUT_OK, answer);
    EXPECT_EQ(legal("k"), (States{answer}));
  }
  run(OpKind::kErase, "k");
  begin(OpKind::kInsert, "k", "3");
  cut();
  begin(OpKind::kLookup, "k");
  end(POWERCUT_NOT_FOUND);
  EXPECT_EQ(legal("k"), (States{"-"}));
}

TEST_F(HistoryTest, EveryChangeOfWhatIsLegalHasAVersion) {
  run(OpKind::kInsert, "k", "1");
  const uint64_t before = history_.keys()[0].version;
  begin(OpKind::kUpdate, "k", "2");
  EXPECT_GT(history_.keys()[0].version, before);
  const uint64_t during = history_.keys()[0].version;
  end();
  EXPECT_GT(history_.keys()[0].version, during);
}

TEST_F(HistoryTest, FormatCountsOnceItIsAcknowledged) {
  begin(OpKind::kFormat);
  EXPECT_FALSE(history_.formatted());
  end();
  EXPECT_TRUE(history_.formatted());
}

TEST_F(HistoryTest, OperationsAreNumberedAndKeysFound) {
  run(OpKind::kInsert, "a", "1");
  run(OpKind::kInsert, "b", "2");
  EXPECT_EQ(history_.operations(), 2u);
  EXPECT_EQ(history_.operation().index, 1u);
  EXPECT_EQ(history_.find("b"), std::optional<uint32_t>(1));
  EXPECT_EQ(history_.find("c"), std::nullopt);
}

}  // namespace
}  // namespace powercut
