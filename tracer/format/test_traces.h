// Traces in memory for tests, to be built, read back and changed byte by byte.
#ifndef POWERCUT_TRACER_FORMAT_TEST_TRACES_H_
#define POWERCUT_TRACER_FORMAT_TEST_TRACES_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "tracer/format/reader.h"
#include "tracer/format/writer.h"

namespace powercut::testing {

// An event that owns its bytes.
struct OwnedEvent {
  EventKind kind{};
  uint8_t code = 0, flags = 0;
  uint32_t thread = 0, stack = 0;
  uint64_t addr = 0, size = 0;
  std::vector<uint8_t> value, key;
  std::string text;
  uint64_t pool = 0;
  bool operator==(const OwnedEvent&) const = default;

  Event view() const {
    Event event;
    event.kind = kind;
    event.code = code;
    event.flags = flags;
    event.thread = thread;
    event.stack = stack;
    event.addr = addr;
    event.size = size;
    event.value = value;
    event.key = key;
    event.text = text;
    event.pool = pool;
    return event;
  }
  static OwnedEvent of(const Event& event) {
    return {event.kind,
            event.code,
            event.flags,
            event.thread,
            event.stack,
            event.addr,
            event.size,
            {event.value.begin(), event.value.end()},
            {event.key.begin(), event.key.end()},
            std::string(event.text),
            event.pool};
  }
};

class TemporaryFile {
 public:
  std::string path() const { return folder_.file("run.pct"); }
  std::string folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

inline std::vector<uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct ReadBack {
  bool complete = false;  // read to the end without an error
  TraceError error;
  std::string metadata;
  std::vector<OwnedEvent> events;
  std::vector<TraceModule> modules;
  std::vector<std::vector<Frame>> stacks;  // of ids 1, 2, …
};

inline ReadBack read_all(TraceReader& reader) {
  ReadBack back;
  back.metadata = reader.metadata();
  Event event;
  while (reader.next(&event)) back.events.push_back(OwnedEvent::of(event));
  back.complete = !reader.error().has_value();
  if (reader.error()) back.error = *reader.error();
  back.modules = reader.modules();
  for (uint32_t id = 1; !reader.stack(id).empty(); ++id) {
    auto stack = reader.stack(id);
    back.stacks.emplace_back(stack.begin(), stack.end());
  }
  return back;
}

inline ReadBack read_bytes(std::span<const uint8_t> bytes) {
  ReadBack back;
  auto reader = TraceReader::open_bytes(bytes, "run.pct", &back.error);
  return reader == nullptr ? back : read_all(*reader);
}

}  // namespace powercut::testing
#endif  // POWERCUT_TRACER_FORMAT_TEST_TRACES_H_
