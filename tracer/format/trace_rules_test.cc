// Traces that a reader under rules refuses (issue B1, 7: explore and audit took addresses of a trace as they came).
#include "tracer/format/trace_rules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace powercut {
namespace {

constexpr uint64_t kSpace = 4096;

Event at(EventKind kind, uint64_t addr, uint64_t size) {
  Event event;
  event.kind = kind;
  event.addr = addr;
  event.size = size;
  return event;
}

Event operation(EventKind kind, OpKind code, std::span<const uint8_t> key = {}, std::span<const uint8_t> value = {}) {
  Event event;
  event.kind = kind;
  event.code = static_cast<uint8_t>(code);
  event.key = key;
  event.value = value;
  return event;
}

TEST(TraceRules, TakePlacesWithinThePool) {
  TraceRules rules(kSpace);
  EXPECT_EQ(rules.wrong(at(EventKind::kStore, 0, 1)), std::nullopt);
  EXPECT_EQ(rules.wrong(at(EventKind::kStore, kSpace - 8, 8)), std::nullopt);
  EXPECT_EQ(rules.wrong(at(EventKind::kFlush, kSpace - 1, 0)), std::nullopt);
}

TEST(TraceRules, RefusePlacesOutsideOfThePool) {
  TraceRules rules(kSpace);
  for (const EventKind kind : {EventKind::kStore, EventKind::kNtStore, EventKind::kAllocate}) {
    for (const uint64_t addr : {kSpace - 7, kSpace, uint64_t{1} << 40, UINT64_MAX - 7, UINT64_MAX}) {
      EXPECT_NE(rules.wrong(at(kind, addr, 8)), std::nullopt) << addr;
    }
    EXPECT_NE(rules.wrong(at(kind, 0, kSpace + 1)), std::nullopt);
    EXPECT_NE(rules.wrong(at(kind, 64, UINT64_MAX - 32)), std::nullopt);
  }
  EXPECT_NE(rules.wrong(at(EventKind::kFlush, kSpace, 64)), std::nullopt);
  EXPECT_NE(rules.wrong(at(EventKind::kFree, kSpace, 0)), std::nullopt);
}

TEST(TraceRules, OperationsBeginBeforeTheyEnd) {
  const std::vector<uint8_t> key(16), value(15);
  TraceRules rules(kSpace, RecordSizes{{16, 16}, {15, 15}});
  const Event begin = operation(EventKind::kOpBegin, OpKind::kInsert, key, value);
  const Event end = operation(EventKind::kOpEnd, OpKind{});
  EXPECT_NE(rules.wrong(end), std::nullopt);
  EXPECT_EQ(rules.wrong(begin), std::nullopt);
  EXPECT_NE(rules.wrong(begin), std::nullopt);
  EXPECT_EQ(rules.wrong(end), std::nullopt);
  EXPECT_EQ(rules.wrong(begin), std::nullopt);
  EXPECT_EQ(rules.wrong(at(EventKind::kCut, 0, 0)), std::nullopt);  // it never ends
  EXPECT_EQ(rules.wrong(begin), std::nullopt);
  rules.start();
  EXPECT_NE(rules.wrong(end), std::nullopt);
}

TEST(TraceRules, ATreeOfSchedulesGoesBackToWhatItHas) {
  const std::vector<uint8_t> key(16), value(15);
  TraceRules rules(kSpace, RecordSizes{{16, 16}, {15, 15}});
  const Event begin = operation(EventKind::kOpBegin, OpKind::kInsert, key, value);
  const Event end = operation(EventKind::kOpEnd, OpKind{});
  const Event crash = at(EventKind::kCrashPoint, 0, 0);
  EXPECT_NE(rules.wrong(crash), std::nullopt);
  EXPECT_NE(rules.wrong(at(EventKind::kBack, 0, 0)), std::nullopt);
  EXPECT_EQ(rules.wrong(at(EventKind::kFork, 0, 0)), std::nullopt);
  EXPECT_NE(rules.wrong(at(EventKind::kFork, 0, 0)), std::nullopt);
  EXPECT_EQ(rules.wrong(begin), std::nullopt);
  EXPECT_EQ(rules.wrong(crash), std::nullopt);
  EXPECT_EQ(rules.wrong(end), std::nullopt);
  EXPECT_NE(rules.wrong(at(EventKind::kBack, 0, 3)), std::nullopt);
  EXPECT_EQ(rules.wrong(at(EventKind::kBack, 0, 1)), std::nullopt);
  EXPECT_EQ(rules.wrong(end), std::nullopt);  // the operation runs again
  EXPECT_EQ(rules.wrong(at(EventKind::kBack, 0, 0)), std::nullopt);
  EXPECT_NE(rules.wrong(end), std::nullopt);
}

TEST(TraceRules, KeysAndValuesHaveThePlansSizes) {
  const std::vector<uint8_t> key(16), value(15), longer(17), none;
  for (const auto& [k, v] : {std::pair{&longer, &value}, std::pair{&none, &value}, std::pair{&key, &key}}) {
    TraceRules rules(kSpace, RecordSizes{{16, 16}, {15, 15}});
    EXPECT_NE(rules.wrong(operation(EventKind::kOpBegin, OpKind::kInsert, *k, *v)), std::nullopt);
  }
  TraceRules rules(kSpace, RecordSizes{{16, 16}, {15, 15}});
  EXPECT_EQ(rules.wrong(operation(EventKind::kOpBegin, OpKind::kMaintain)), std::nullopt);
}

TEST(TraceRules, KeysAndValuesOfARangeLieWithinIt) {
  const std::vector<uint8_t> shortest(8), longest(64), longer(65), value(1), none;
  const auto begins = [](const std::vector<uint8_t>& k, const std::vector<uint8_t>& v) {
    TraceRules rules(kSpace, RecordSizes{{8, 64}, {1, 400}});
    return rules.wrong(operation(EventKind::kOpBegin, OpKind::kInsert, k, v));
  };
  EXPECT_EQ(begins(shortest, value), std::nullopt);
  EXPECT_EQ(begins(longest, longest), std::nullopt);
  EXPECT_EQ(begins(longer, value), "begins an operation with a key of 65 bytes, and its plan says 8 to 64");
  EXPECT_NE(begins(shortest, none), std::nullopt);
}

TEST(TraceRules, AProgramsOperationsAreItsOwn) {
  TraceRules rules(kSpace);
  EXPECT_EQ(rules.wrong(operation(EventKind::kOpEnd, OpKind{})), std::nullopt);
}

}  // namespace
}  // namespace powercut
