// What a reader asks about calls on files (FORMAT.md, "Calls on files"): which events they are.
#ifndef POWERCUT_TRACER_FORMAT_FILE_CALLS_H_
#define POWERCUT_TRACER_FORMAT_FILE_CALLS_H_

#include <functional>

#include "tracer/format/trace.h"

namespace powercut {

class FileCalls {
 public:
  virtual ~FileCalls() = default;
  // Before the first event of each pass.
  virtual void start() = 0;
  // Takes a call, and calls `emit` with each event that it is. The spans of an event are valid during the call alone.
  using Emit = std::function<void(const Event&)>;
  virtual void call(const Event& call, const Emit& emit) = 0;
  // Every other event of the trace, in its place.
  virtual void pass(const Event& event) = 0;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_FILE_CALLS_H_
