// A line by which a program marks its operations (docs/files-marks.md): its words, and the event that it becomes.
#ifndef POWERCUT_TRACER_CALLS_MARK_LINE_H_
#define POWERCUT_TRACER_CALLS_MARK_LINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/format/trace.h"

namespace powercut {

struct MarkLine {
  EventKind kind = EventKind::kMarker;  // or the begin or end of an operation
  uint8_t code = 0;                     // OpKind of a begin, powercut_status of an end
  std::string key, value;
  std::string text;  // name of a point, command of a maintenance operation
};

// Reads a line without its end. Returns the reason, the rest of a sentence, if the line is none.
std::optional<std::string> read_mark_line(std::string_view line, MarkLine* out);

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_MARK_LINE_H_
