// Writes a log's text to a file with a temporary name; finish() gives the file its own name.
#ifndef POWERCUT_TRACER_PMEMCHECK_LOG_WRITER_H_
#define POWERCUT_TRACER_PMEMCHECK_LOG_WRITER_H_

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/format/trace.h"

namespace powercut::pmemcheck {

class LogWriter {
 public:
  static std::unique_ptr<LogWriter> create(const std::string& path, TraceError* error);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // Adds text. finish() reports a failure.
  void add(std::string_view text) { std::fwrite(text.data(), 1, text.size(), file_); }
  std::optional<TraceError> finish();

 private:
  LogWriter(std::string path, std::string partial, std::FILE* file)
      : path_(std::move(path)), partial_(std::move(partial)), file_(file) {}

  std::string path_, partial_;
  std::FILE* file_;
};

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_LOG_WRITER_H_
