// The file that a tracer with a C library writes its stream to (STREAM.md). C++11 without exceptions or RTTI, as a Pin
// kit asks.
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

  // Makes the file anew and writes the header; returns false with errno on an error. The descriptor has a high number,
  // out of the way of the program's own descriptors.
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
