#include "tracer/format/file_calls.h"

#include <gtest/gtest.h>

#include "tracer/format/test_events.h"

namespace powercut {
namespace {

using testing::kStacks;
using testing::OwnedEvent;
using testing::read_bytes;
using testing::write;

// Calls are told as they were made, and every other event in its place.
class Listener final : public FileCalls {
 public:
  explicit Listener(std::vector<OwnedEvent>* calls, int* passed) : calls_(calls), passed_(passed) {}
  void start() override { calls_->clear(), *passed_ = 0; }
  // Two events for each write, none for others.
  void call(const Event& call, const Emit& emit) override {
    calls_->push_back(OwnedEvent::of(call));
    if (static_cast<PoolCall>(call.code) != PoolCall::kWrite) return;
    Event event;
    event.kind = EventKind::kStore;
    event.thread = call.thread;
    event.stack = call.stack;
    event.addr = call.pool + call.addr;
    event.value = call.value;
    event.size = call.size;
    emit(event);
    event.addr += 100;
    emit(event);
  }
  void pass(const Event&) override { ++*passed_; }

 private:
  std::vector<OwnedEvent>* calls_;
  int* passed_;
};

std::vector<OwnedEvent> trace_with_calls() {
  const auto call = [](PoolCall kind) {
    OwnedEvent out;
    out.kind = kFileCall;
    out.code = static_cast<uint8_t>(kind);
    out.thread = 3;
    out.stack = 1;
    out.pool = 4096;
    return out;
  };
  OwnedEvent content = call(PoolCall::kContent), write = call(PoolCall::kWrite), size = call(PoolCall::kSize),
             msync = call(PoolCall::kMsync), fsync = call(PoolCall::kFsync), through = call(PoolCall::kWrittenThrough);
  content.value = {1, 2, 3};
  content.size = 3;
  write.addr = 1 << 20;
  write.value = std::vector<uint8_t>(4096, 7);
  write.size = 4096;
  size.size = uint64_t{1} << 40;
  size.pool = kNoPool;
  msync.addr = 8192, msync.size = 100;
  fsync.size = ~uint64_t{0};
  through.addr = 5, through.size = 6;
  OwnedEvent fence;
  fence.kind = EventKind::kFence;
  fence.code = 1;
  fence.thread = 3;
  return {content, fence, write, size, fence, msync, fsync, through};
}

TEST(Format, CallsOnFilesAreReadThroughAMedium) {
  const std::vector<OwnedEvent> written = trace_with_calls();
  const std::vector<uint8_t> bytes = write(written, "{}", kStacks);
  TraceError error;
  const auto reader = TraceReader::open_bytes(bytes, "run.pct", &error);
  ASSERT_NE(reader, nullptr) << error.message();
  std::vector<OwnedEvent> calls;
  int passed = 0;
  ASSERT_TRUE(reader->read_through(std::make_unique<Listener>(&calls, &passed)));
  EXPECT_EQ(reader->total_events(), 4u);
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<uint64_t> indexes, places;
    Event event;
    while (reader->next(&event)) {
      indexes.push_back(event.index);
      if (event.kind == EventKind::kStore) places.push_back(event.addr);
    }
    EXPECT_FALSE(reader->error());
    EXPECT_EQ(indexes, (std::vector<uint64_t>{0, 1, 2, 3}));
    EXPECT_EQ(places, (std::vector<uint64_t>{4096 + (1 << 20), 4096 + (1 << 20) + 100}));
    EXPECT_EQ(passed, 2);
    std::vector<OwnedEvent> expected = written;
    std::erase_if(expected, [](const OwnedEvent& one) { return one.kind != kFileCall; });
    EXPECT_EQ(calls, expected);
    reader->rewind();
  }
}

TEST(Format, ACallOnAFileOfNoKnownMediumEndsTheTrace) {
  const auto back = read_bytes(write(trace_with_calls(), "{}", kStacks));
  EXPECT_FALSE(back.complete);
  EXPECT_NE(back.error.message().find("what medium the file is"), std::string::npos);
}

TEST(Format, WhatAMediumMakesOfACallKeepsToTheRules) {
  const std::vector<uint8_t> bytes = write(trace_with_calls(), "{}", kStacks);
  TraceError error;
  const auto reader = TraceReader::open_bytes(bytes, "run.pct", &error);
  std::vector<OwnedEvent> calls;
  int passed = 0;
  reader->hold_to(TraceRules(8192));
  EXPECT_FALSE(reader->read_through(std::make_unique<Listener>(&calls, &passed)));
  ASSERT_TRUE(reader->error());
  EXPECT_NE(reader->error()->message().find("event 1 stores 4096 byte(s) at offset 1052672"), std::string::npos)
      << reader->error()->message();
}

}  // namespace
}  // namespace powercut
