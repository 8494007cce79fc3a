#include "tracer/pmemcheck/log_writer.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace powercut::pmemcheck {

namespace {
TraceError unwritable(const std::string& path, int problem) {
  return {std::string("cannot write it (") + std::strerror(problem) + ")", path,
          "Name a file in a folder that can be written, with space left."};
}
}  // namespace

std::unique_ptr<LogWriter> LogWriter::create(const std::string& path, TraceError* error) {
  std::string partial = path + ".partial-" + std::to_string(getpid());
  std::FILE* file = std::fopen(partial.c_str(), "wxe");
  if (file == nullptr) {
    *error = unwritable(path, errno);
    return nullptr;
  }
  return std::unique_ptr<LogWriter>(new LogWriter(path, std::move(partial), file));
}

LogWriter::~LogWriter() {
  if (file_ != nullptr) {
    std::fclose(file_);
    unlink(partial_.c_str());
  }
}

std::optional<TraceError> LogWriter::finish() {
  const bool bad = std::fflush(file_) != 0 || std::ferror(file_) != 0;
  if (bad) return unwritable(path_, errno);
  std::fclose(file_);
  file_ = nullptr;
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int problem = errno;
    unlink(partial_.c_str());
    return unwritable(path_, problem);
  }
  return std::nullopt;
}

}  // namespace powercut::pmemcheck
