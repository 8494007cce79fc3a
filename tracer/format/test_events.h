// Events and traces for tests of the format, made in a line each.
#ifndef POWERCUT_TRACER_FORMAT_TEST_EVENTS_H_
#define POWERCUT_TRACER_FORMAT_TEST_EVENTS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tracer/format/test_traces.h"

namespace powercut::testing {

// Call stacks that tests give to a trace: their ids are 1 and 2.
inline const std::vector<std::vector<Frame>> kStacks = {{{0, 0x1234}, {0, 0x99}}, {{0, 0x1250}}};

inline OwnedEvent store(uint64_t addr, std::vector<uint8_t> value, uint8_t flags = 0) {
  OwnedEvent event;
  event.kind = EventKind::kStore;
  event.addr = addr;
  event.size = value.size();
  event.value = std::move(value);
  event.flags = flags;
  return event;
}

inline OwnedEvent flush(uint64_t addr) {
  OwnedEvent event;
  event.kind = EventKind::kFlush;
  event.code = static_cast<uint8_t>(FlushKind::kClwb);
  event.addr = addr;
  return event;
}

inline OwnedEvent fence(uint8_t code = 1) {
  OwnedEvent event;
  event.kind = EventKind::kFence;
  event.code = code;
  return event;
}

inline OwnedEvent begin(OpKind kind, std::vector<uint8_t> key, std::vector<uint8_t> value, std::string text = "") {
  OwnedEvent event;
  event.kind = EventKind::kOpBegin;
  event.code = static_cast<uint8_t>(kind);
  event.key = std::move(key);
  event.value = std::move(value);
  event.text = std::move(text);
  return event;
}

inline OwnedEvent end(uint8_t status, std::vector<uint8_t> value = {}) {
  OwnedEvent event;
  event.kind = EventKind::kOpEnd;
  event.code = status;
  event.value = std::move(value);
  return event;
}

inline OwnedEvent other(EventKind kind, std::string text = "", uint8_t code = 0) {
  OwnedEvent event;
  event.kind = kind;
  event.text = std::move(text);
  event.code = code;
  return event;
}

inline std::vector<uint8_t> write(const std::vector<OwnedEvent>& events, const std::string& metadata = "{}",
                                  const std::vector<std::vector<Frame>>& stacks = {}, uint32_t modules = 1) {
  TemporaryFile file;
  TraceError error;
  auto writer = TraceWriter::create(file.path(), metadata, &error);
  EXPECT_NE(writer, nullptr) << error.message();
  for (uint32_t i = 0; i < modules; ++i) writer->module({"/lib/module" + std::to_string(i), "00ff"});
  for (const std::vector<Frame>& stack : stacks) writer->stack(stack);
  for (const OwnedEvent& event : events) writer->append(event.view());
  auto wrong = writer->finish();
  EXPECT_FALSE(wrong.has_value()) << wrong->message();
  return bytes_of(file.path());
}

}  // namespace powercut::testing
#endif  // POWERCUT_TRACER_FORMAT_TEST_EVENTS_H_
