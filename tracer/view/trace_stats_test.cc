#include "tracer/view/trace_stats.h"

#include <gtest/gtest.h>

namespace powercut {
namespace {

Event event_of(EventKind kind, uint8_t code = 0, uint32_t thread = 0) {
  Event event;
  event.kind = kind;
  event.code = code;
  event.thread = thread;
  return event;
}

Event store(uint64_t addr, uint64_t size, uint32_t thread = 0) {
  Event event = event_of(EventKind::kStore, 0, thread);
  event.addr = addr;
  event.size = size;
  return event;
}

constexpr auto kInsert = static_cast<uint8_t>(OpKind::kInsert), kErase = static_cast<uint8_t>(OpKind::kErase);

TEST(TraceStats, LinesAndBlocksAreDistinctWithinAnOperation) {
  TraceStats stats;
  for (int i = 0; i < 2; ++i) {
    stats.add(event_of(EventKind::kOpBegin, kInsert));
    stats.add(store(60, 8));   // two lines, one block
    stats.add(store(64, 8));   // again the second
    stats.add(store(252, 8));  // two more lines, two blocks
    stats.add(event_of(EventKind::kOpEnd));
  }
  stats.finish();
  const OperationCounters& insert = stats.all().at("insert");
  EXPECT_EQ(insert.operations, 2u);
  EXPECT_EQ(insert.stores, 6u);
  EXPECT_EQ(insert.store_bytes, 48u);
  EXPECT_EQ(insert.lines, 8u);
  EXPECT_EQ(insert.blocks, 4u);
}

TEST(TraceStats, ThreadsCountForTheirOwnOperation) {
  TraceStats stats;
  stats.add(event_of(EventKind::kOpBegin, kInsert, 1));
  stats.add(event_of(EventKind::kOpBegin, kErase, 2));
  stats.add(store(0, 8, 1));
  stats.add(store(0, 4, 2));
  stats.add(store(0, 1, 3));
  stats.finish();
  EXPECT_EQ(stats.all().at("insert").store_bytes, 8u);
  EXPECT_EQ(stats.all().at("erase").store_bytes, 4u);
  EXPECT_EQ(stats.all().at("none").store_bytes, 1u);
  EXPECT_EQ(stats.operations(), 2u);
}

TEST(TraceStats, ACutEndsTheOperationAndPhasesDivideTheCount) {
  TraceStats stats;
  Event mark = event_of(EventKind::kMarker);
  mark.text = "move.copied";
  stats.add(event_of(EventKind::kPhase, 0));
  stats.add(event_of(EventKind::kOpBegin, kInsert));
  stats.add(mark);
  stats.add(event_of(EventKind::kOpEnd));
  stats.add(event_of(EventKind::kPhase, 1));
  stats.add(event_of(EventKind::kOpBegin, kInsert));
  stats.add(mark);
  stats.add(event_of(EventKind::kCut));
  stats.add(store(0, 8));
  stats.finish();
  EXPECT_EQ(stats.all().at("insert").operations, 2u);
  EXPECT_EQ(stats.explored().at("insert").operations, 1u);
  EXPECT_EQ(stats.all().at("none").stores, 1u);
  EXPECT_EQ(stats.marks().at("move.copied"), 1u);
}

}  // namespace
}  // namespace powercut
