// A reader's question about calls on files: which events is a call (FORMAT.md, "Calls on files")?
#ifndef POWERCUT_TRACER_FORMAT_FILE_CALLS_H_
#define POWERCUT_TRACER_FORMAT_FILE_CALLS_H_

#include <functional>

#include "tracer/format/trace.h"

namespace powercut {

class FileCalls {
 public:
  virtual ~FileCalls() = default;
  // The reader calls start() before the first event of each pass.
  virtual void start() = 0;
  // Takes a call, and passes each event that the call is to `emit`. The spans of an event are valid only while `emit`
  // runs.
  using Emit = std::function<void(const Event&)>;
  virtual void call(const Event& call, const Emit& emit) = 0;
  // Takes every other event of the trace, in its place.
  virtual void pass(const Event& event) = 0;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_FORMAT_FILE_CALLS_H_
