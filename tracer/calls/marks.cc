#include "tracer/calls/marks.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tracer/calls/tree.h"

namespace powercut {
namespace {

constexpr const char* kVariable = "POWERCUT_MARKS";
constexpr size_t kLongestLine = 1u << 20;
constexpr size_t kShown = 80;

EngineError no_mark(std::string_view line, const std::string& reason) {
  const std::string shown = line.size() > kShown ? std::string(line.substr(0, kShown)) + "…" : std::string(line);
  return usage_error(absl::StrCat("the program wrote a line that marks nothing, '", shown_name(shown), "': ", reason),
                     kVariable, "Write 'begin KIND KEY VALUE', 'end STATUS' or 'point NAME' (docs/files-marks.md).");
}

std::span<const uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

std::optional<EngineError> Marks::make(const std::string& path, TreeLog& log) {
  file_ = OwnDescriptor(open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  struct stat status{};
  if (!file_ || fstat(file_.number(), &status) != 0 || setenv(kVariable, path.c_str(), 1) != 0) {
    return harness_error(absl::StrCat("the file for marks cannot be made: ", std::strerror(errno)), path,
                         "Free some space and record again.");
  }
  log.tells(status, *this);
  return std::nullopt;
}

void Marks::wrote(TreeLog& log, uint64_t offset, uint64_t size) {
  if (wrong_) return;
  std::string& begun = begun_[log.thread()];
  const size_t before = begun.size();
  if (before + size > kLongestLine) {
    wrong_ = no_mark(begun, absl::StrCat("it has more than ", kLongestLine, " bytes"));
    return;
  }
  begun.resize(before + size);
  const ssize_t got = pread(file_.number(), &begun[before], size, static_cast<off_t>(offset));
  begun.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  size_t first = 0;
  for (size_t end; (end = begun.find('\n', first)) != std::string::npos; first = end + 1) {
    if (!wrong_) take(std::string_view(begun).substr(first, end - first), log);
  }
  begun.erase(0, first);
}

void Marks::take(std::string_view line, TreeLog& log) {
  MarkLine mark;
  auto reason = read_mark_line(line, &mark);
  if (!reason) reason = emit(mark, log);
  if (reason) wrong_ = no_mark(line, *reason);
}

std::optional<std::string> Marks::emit(const MarkLine& mark, TreeLog& log) {
  Event event;
  event.kind = mark.kind;
  event.code = mark.code;
  event.thread = log.thread();
  event.stack = log.stack();
  event.key = bytes(mark.key);
  event.value = bytes(mark.value);
  event.text = mark.text;
  if (mark.kind == EventKind::kOpBegin) {
    if (!running_.insert(event.thread).second) return "an operation of this thread has not ended yet";
  } else if (mark.kind == EventKind::kOpEnd) {
    // A runtime may move an operation to another thread. Where a single operation runs, it is the one that ends.
    if (!running_.contains(event.thread)) {
      if (running_.empty()) return "no operation has begun";
      if (running_.size() > 1) return "several operations run, and none has begun in this thread";
      event.thread = *running_.begin();
    }
    running_.erase(event.thread);
  }
  operations_ = operations_ || mark.kind != EventKind::kMarker;
  ++events_;
  log.append(event);
  return std::nullopt;
}

std::optional<EngineError> Marks::wrong() const {
  if (wrong_) return wrong_;
  for (const auto& [thread, line] : begun_) {
    if (!line.empty()) return no_mark(line, "it has no end");
  }
  return std::nullopt;
}

}  // namespace powercut
