// The file that a stream is written to (STREAM.md), by a tracer that has a C library. C++11 without exceptions or RTTI,
// as a Pin kit asks.
#ifndef POWERCUT_TRACER_STREAM_STREAM_FILE_H_
#define POWERCUT_TRACER_STREAM_STREAM_FILE_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "tracer/stream/stream.h"

namespace powercut {

class StreamFile {
 public:
  StreamFile() = default;
  ~StreamFile();
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  // Makes the file anew and writes the header. False with errno when that cannot be done. The descriptor is out of the
  // way of those that the program will get.
  bool open(const char* path);
  powercut_stream* stream() { return &stream_; }
  int descriptor() const { return file_; }

 private:
  static int write_all(void* self, const void* bytes, size_t size);

  int file_ = -1;
  std::vector<uint8_t> buffer_;
  powercut_stream stream_ = {};
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_STREAM_FILE_H_
