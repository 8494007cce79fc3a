// The recent past of lines: what is shown, and what is dropped.
#include "replayer/crash_points/line_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace powercut {
namespace {

class Tape {
 public:
  explicit Tape(uint64_t lines, uint64_t kept_blocks = 4) : timeline_(lines, kept_blocks) {}

  Tape& store(uint64_t addr, uint64_t size = 8, EventKind kind = EventKind::kStore) {
    Event event = at(kind, 0, addr);
    event.value = std::span(bytes_).first(size);
    event.size = size;
    return apply(event);
  }
  Tape& flush(uint64_t addr, FlushKind kind = FlushKind::kClwb) {
    return apply(at(EventKind::kFlush, static_cast<uint8_t>(kind), addr));
  }
  Tape& fence() { return apply(at(EventKind::kFence, static_cast<uint8_t>(FenceKind::kSfence), 0)); }

  // "event state" of each entry.
  std::vector<std::string> of(uint64_t line) const {
    std::vector<std::string> out;
    for (const LineTimeline::Entry& entry : timeline_.entries(line)) {
      out.push_back(std::to_string(entry.event) + " " + entry.state);
    }
    return out;
  }
  const LineTimeline& timeline() const { return timeline_; }

 private:
  Event at(EventKind kind, uint8_t code, uint64_t addr) {
    Event event;
    event.index = next_++;
    event.kind = kind;
    event.code = code;
    event.addr = addr;
    return event;
  }
  Tape& apply(const Event& event) {
    timeline_.apply(event);
    return *this;
  }

  LineTimeline timeline_;
  uint64_t next_ = 0;
  std::array<uint8_t, 64> bytes_{};
};

TEST(LineTimeline, FollowsALineFromDirtyToDurable) {
  const Tape tape = std::move(Tape(4).store(64).flush(64).fence().store(64).flush(64, FlushKind::kClflush));
  EXPECT_THAT(tape.of(1), ::testing::ElementsAre("0 dirty", "1 flushed", "2 durable", "3 dirty", "4 durable"));
  EXPECT_THAT(tape.of(0), ::testing::IsEmpty());
}

TEST(LineTimeline, AStoreAfterTheFlushStaysDirty) {
  EXPECT_THAT(std::move(Tape(4).store(0).flush(0).store(8).fence()).of(0),
              ::testing::ElementsAre("0 dirty", "1 flushed", "2 dirty", "3 dirty"));
}

TEST(LineTimeline, AStoreAcrossLinesIsInBothWithItsPart) {
  const Tape tape = std::move(Tape(4).store(60, 12));
  EXPECT_EQ(tape.timeline().entries(0)[0].size, 4u);
  EXPECT_EQ(tape.timeline().entries(1)[0].size, 8u);
}

TEST(LineTimeline, NonTemporalStoresWaitForTheFenceAlone) {
  EXPECT_THAT(std::move(Tape(4).store(0, 8, EventKind::kNtStore).fence()).of(0),
              ::testing::ElementsAre("0 flushed", "1 durable"));
}

TEST(LineTimeline, ShowsTheLastEntries) {
  Tape tape(1);
  for (int i = 0; i < 100; ++i) tape.store(0);
  const auto entries = tape.timeline().entries(0);
  ASSERT_EQ(entries.size(), LineTimeline::kShown);
  EXPECT_EQ(entries.front().event, 100 - LineTimeline::kShown);
  EXPECT_EQ(entries.back().event, 99u);
}

TEST(LineTimeline, DropsTheOldestOfALongTrace) {
  Tape tape(2, /*kept_blocks=*/2);
  tape.store(64);
  for (uint64_t i = 0; i < 3 * LineTimeline::kBlock; ++i) tape.store(0);
  EXPECT_THAT(tape.of(1), ::testing::IsEmpty());
  EXPECT_EQ(tape.of(0).size(), LineTimeline::kShown);
  tape.flush(64).fence();  // a line whose past is gone goes on
  EXPECT_EQ(tape.of(1).size(), 2u);
}

}  // namespace
}  // namespace powercut
