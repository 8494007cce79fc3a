// Legal states of a key, operation by operation and across the power cuts of a scenario.
#include "checker/oracle/history.h"

#include <gtest/gtest.h>

#include "powercut/target.h"
#include "tracer/record/key_bytes.h"

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

Event of_thread(EventKind kind, uint32_t thread, uint8_t code, std::span<const uint8_t> key = {},
                std::span<const uint8_t> value = {}) {
  Event event;
  event.kind = kind;
  event.thread = thread;
  event.code = code;
  event.key = key;
  event.value = value;
  return event;
}

// Threads: an insert that is under way, and what a lookup beside it has returned.
class OverlappingHistory : public ::testing::Test {
 protected:
  void begin(uint32_t thread, OpKind kind, std::span<const uint8_t> value = {}) {
    history_.apply(of_thread(EventKind::kOpBegin, thread, static_cast<uint8_t>(kind), key_, value));
  }
  void end(uint32_t thread, powercut_status status, std::span<const uint8_t> value = {}) {
    history_.apply(of_thread(EventKind::kOpEnd, thread, static_cast<uint8_t>(status), {}, value));
  }
  const KeyHistory& key() const { return history_.keys()[0]; }

  const std::vector<uint8_t> key_ = key_bytes(1, 8), one_ = value_bytes(1, 8), two_ = value_bytes(2, 8);
  History history_;
};

TEST_F(OverlappingHistory, WhatALookupHasReturnedMustStay) {
  begin(1, OpKind::kInsert, one_);
  begin(2, OpKind::kLookup);
  EXPECT_TRUE(key().legal(kAbsent));
  EXPECT_TRUE(key().legal(0));
  end(2, POWERCUT_OK, one_);
  EXPECT_FALSE(key().legal(kAbsent));
  EXPECT_TRUE(key().only_read(kAbsent));  // the insert itself may still be lost
  EXPECT_TRUE(history_.unexplained().empty());
  ASSERT_EQ(history_.under_way().size(), 1u);
  EXPECT_EQ(history_.under_way()[0].thread, 1u);
}

TEST_F(OverlappingHistory, AnswersThatNoOrderExplains) {
  begin(1, OpKind::kInsert, one_);
  begin(2, OpKind::kLookup);
  end(1, POWERCUT_OK);
  end(2, POWERCUT_OK, two_);
  EXPECT_EQ(history_.unexplained(), std::vector<uint32_t>{0});
}

TEST_F(OverlappingHistory, TellsWhatBecameIllegalSinceTheLastCrashPointAlone) {
  begin(1, OpKind::kInsert, one_);
  begin(2, OpKind::kUpdate, two_);
  history_.settle();
  EXPECT_TRUE(history_.tightened().empty());
  end(1, POWERCUT_OK);
  history_.settle();
  EXPECT_EQ(history_.tightened(), std::vector<uint32_t>{0});  // absent
}

TEST_F(OverlappingHistory, GoesBackToWhereTheSchedulesPart) {
  begin(0, OpKind::kInsert, one_);
  end(0, POWERCUT_OK);
  history_.apply(of_thread(EventKind::kFork, 0, 2));
  for (int round = 0; round < 2; ++round) {
    begin(1, OpKind::kUpdate, two_);
    begin(2, OpKind::kErase);
    end(2, POWERCUT_OK);
    end(1, POWERCUT_OK);
    history_.settle();
    EXPECT_EQ(key().all_legal(), std::vector<int32_t>{kAbsent}) << "the update was first, for it has found the key";
    history_.go_back();
    history_.settle();
    EXPECT_EQ(key().all_legal(), std::vector<int32_t>{0});
    EXPECT_FALSE(history_.in_flight());
    EXPECT_EQ(history_.operations(), 1u);
  }
  EXPECT_EQ(key().written.size(), 2u) << "a value has one number in all schedules";
}

}  // namespace
}  // namespace powercut
