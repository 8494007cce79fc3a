// The calls of a recorded trace as the model takes them, each with its number (FORMAT.md, "Calls on trees").
//
// Calls have the numbers that people see in `powercut view`: from 1, behind the tree of the start. A mark has the
// number of the call before it.
#ifndef POWERCUT_REPLAYER_MEDIA_FILES_TRACE_EFFECTS_H_
#define POWERCUT_REPLAYER_MEDIA_FILES_TRACE_EFFECTS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "replayer/media/files/effect.h"
#include "tracer/format/trace.h"

namespace powercut::files {

class TraceEffects {
 public:
  explicit TraceEffects(std::function<void(const Effect&, uint64_t number)> use) : use_(std::move(use)) {}

  void take(const Event& event);
  // Tells of the last call. Call it behind the last event.
  void end() { tell(); }
  bool started() const { return started_; }    // whether the trace has a tree at the start
  bool complete() const { return complete_; }  // false: a note says that something was not recorded

 private:
  void take_call(const Event& event);
  void tell();

  const std::function<void(const Effect&, uint64_t)> use_;
  std::optional<Effect> at_hand_;  // a write may be several events
  uint64_t number_ = 0;
  bool started_ = false, complete_ = true;
};

}  // namespace powercut::files
#endif  // POWERCUT_REPLAYER_MEDIA_FILES_TRACE_EFFECTS_H_
