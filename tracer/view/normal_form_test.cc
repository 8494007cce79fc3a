#include "tracer/view/normal_form.h"

#include <gtest/gtest.h>

#include <vector>

namespace powercut {
namespace {

Event store(uint64_t addr, const std::vector<uint8_t>& value, uint32_t thread = 0, EventKind kind = EventKind::kStore) {
  Event event;
  event.kind = kind;
  event.thread = thread;
  event.addr = addr;
  event.size = value.size();
  event.value = value;
  return event;
}

Event flush(uint64_t addr, FlushKind kind, uint32_t thread = 0) {
  Event event;
  event.kind = EventKind::kFlush;
  event.thread = thread;
  event.addr = addr;
  event.code = static_cast<uint8_t>(kind);
  return event;
}

Event fence(uint32_t thread = 0) {
  Event event;
  event.kind = EventKind::kFence;
  event.thread = thread;
  event.code = 1;
  return event;
}

std::string text_of(const std::vector<Event>& events) {
  NormalForm form;
  std::string text;
  for (const Event& event : events) text += form.add(event);
  return text;
}

// "visible xx.. floor yy.." of line 0 with these first bytes.
std::string line(const std::string& visible, const std::string& floor) {
  auto padded = [](std::string hex) { return hex + std::string(128 - hex.size(), '0'); };
  return "  line 0x0 visible " + padded(visible) + " floor " + padded(floor) + "\n";
}

const std::vector<uint8_t> kOne = {1, 1}, kTwo = {2}, kBoth = {2, 1};

TEST(NormalForm, SplittingACopyChangesNothing) {
  const std::vector<uint8_t> first = {2}, second = {1};
  EXPECT_EQ(text_of({store(0, kBoth), fence()}), text_of({store(0, first), store(1, second), fence()}));
}

TEST(NormalForm, AFlushCoversWhatWasThereAndTakesAFence) {
  // The second store comes after the flush: it stays above the floor.
  EXPECT_EQ(text_of({store(0, kOne), flush(7, FlushKind::kClwb), store(0, kTwo), fence()}),
            "fence t0\n" + line("0201", "0101"));
  EXPECT_EQ(text_of({store(0, kOne), flush(0, FlushKind::kClwb), fence(1)}), "fence t1\n" + line("0101", ""));
  EXPECT_EQ(text_of({store(0, kOne), flush(0, FlushKind::kClflush), fence(1)}), "fence t1\n" + line("0101", "0101"));
}

TEST(NormalForm, NonTemporalStoresNeedTheirOwnFenceAndNoFlush) {
  EXPECT_EQ(text_of({store(0, kOne, 0, EventKind::kNtStore), fence()}), "fence t0\n" + line("0101", "0101"));
  EXPECT_EQ(text_of({store(0, kOne, 0, EventKind::kNtStore), flush(0, FlushKind::kClflush, 1), fence(1)}),
            "fence t1\n" + line("0101", ""));
}

TEST(NormalForm, FloorsOnlyRise) {
  // Thread 1 fences an older flush of the line after thread 0 made a newer content durable.
  EXPECT_EQ(text_of({store(0, kOne), flush(0, FlushKind::kClwb, 1), store(0, kTwo), flush(0, FlushKind::kClflush),
                     fence(1), fence(1)}),
            "fence t1\n" + line("0201", "0201"));
}

TEST(NormalForm, ACutMakesEverythingDurable) {
  Event cut;
  cut.kind = EventKind::kCut;
  EXPECT_EQ(text_of({store(0, kOne, 0, EventKind::kNtStore), cut, fence()}), "cut\n" + line("0101", "0101"));
}

}  // namespace
}  // namespace powercut
