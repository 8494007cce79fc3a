// The operations that a program marks by lines of a file, which POWERCUT_MARKS names (docs/files-marks.md).
//
// The write of a line is a call like any other: it runs alone, and the operation's event stands in its place among the
// calls on the folder. Lines are put together by thread, so threads may write pieces of lines at the same time.
#ifndef POWERCUT_TRACER_CALLS_MARKS_H_
#define POWERCUT_TRACER_CALLS_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tracer/calls/mark_line.h"
#include "tracer/calls/own_descriptor.h"
#include "tracer/calls/told_file.h"
#include "tracer/calls/tree_log.h"

namespace powercut {

class Marks : public ToldFile {
 public:
  // Makes the file, and sets the variable for the processes that this one starts.
  std::optional<EngineError> make(const std::string& path, TreeLog& log);
  void wrote(TreeLog& log, uint64_t offset, uint64_t size) override;
  bool has_operations() const { return operations_; }
  uint64_t events() const { return events_; }  // that the lines became
  // Returns the first line that says nothing, as an error. Call wrong() after the program's end.
  std::optional<EngineError> wrong() const;

 private:
  void take(std::string_view line, TreeLog& log);
  // Returns the reason for which the operation cannot begin or end now.
  std::optional<std::string> emit(const MarkLine& mark, TreeLog& log);

  OwnDescriptor file_;
  std::map<uint32_t, std::string> begun_;  // lines without an end so far, by thread
  std::set<uint32_t> running_;             // threads whose operation has begun and not ended
  bool operations_ = false;
  uint64_t events_ = 0;
  std::optional<EngineError> wrong_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_CALLS_MARKS_H_
