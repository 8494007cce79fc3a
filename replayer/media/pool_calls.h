// Turns calls of a program on the file of a pool into stores, flushes and fences of lines, by the rules of the file's
// medium. See tracer/FORMAT.md, "Calls on files". A reader asks here before anybody sees an event.
#ifndef POWERCUT_REPLAYER_MEDIA_POOL_CALLS_H_
#define POWERCUT_REPLAYER_MEDIA_POOL_CALLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tracer/format/file_calls.h"
#include "tracer/stream/device_layout.h"

namespace powercut {

// A pool that is a file of the program.
struct PoolFile {
  uint64_t offset = 0;  // of its window in the trace's offset space
  uint64_t window = 0;  // bytes of the offset space that are its own
  uint64_t size = 0;    // the greatest size of the file
  std::optional<DeviceLayout> device = {};
};

// Takes the events of the call at hand. Each event gets the thread and the stack of the call.
class CallEvents {
 public:
  // `marks_phases`: the program marks phases of its own, so this class adds none.
  explicit CallEvents(bool marks_phases) : marks_phases_(marks_phases) {}
  void begin(const Event& call, const FileCalls::Emit& emit) { call_ = &call, emit_ = &emit; }

  void content(std::span<const uint8_t> bytes);
  void store(uint64_t at, std::span<const uint8_t> bytes, uint8_t flags = 0);
  void flush(uint64_t at, FlushKind kind);
  void fence(FenceKind kind);
  void marker(std::string_view text);
  // The events between these two calls are one change: no power cut is tried inside it.
  void begin_change() { phase("the file is cut off", false); }
  void end_change() { phase("run", true); }

 private:
  Event event_of(EventKind kind) const;
  void phase(std::string_view name, bool explored);

  const bool marks_phases_;
  const Event* call_ = nullptr;
  const FileCalls::Emit* emit_ = nullptr;
};

// One file of a medium, as it stands in one pass over a trace.
class PoolCalls {
 public:
  virtual ~PoolCalls() = default;
  virtual void call(const Event& call, CallEvents* out) = 0;
  // Takes an event of the trace that is no call.
  virtual void pass(const Event&) {}
};

// Precondition: the windows are disjoint.
std::unique_ptr<FileCalls> make_file_calls(std::vector<PoolFile> files, bool marks_phases);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_POOL_CALLS_H_
