// A whole file in memory, read-only; the destructor unmaps it.
#ifndef POWERCUT_TRACER_PMEMCHECK_MAPPED_FILE_H_
#define POWERCUT_TRACER_PMEMCHECK_MAPPED_FILE_H_

#include <memory>
#include <string>
#include <string_view>

#include "tracer/format/trace.h"

namespace powercut::pmemcheck {

class MappedFile {
 public:
  // Maps the file. Returns null after an error. Only regular files can be mapped: a pipe or a device has no size to go
  // by.
  static std::unique_ptr<MappedFile> open(const std::string& path, TraceError* error);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_MAPPED_FILE_H_
