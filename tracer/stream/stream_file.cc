#include "tracer/stream/stream_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace powercut {
namespace {

constexpr size_t kBuffer = 1 << 20;
// Below the usual limit of 1024 open files, far above what a program reaches by itself.
constexpr int kHighDescriptor = 1000;

}  // namespace

// The destructor drops gathered bytes: powercut_stream_end() has written them, or must not.
StreamFile::~StreamFile() {
  if (file_ >= 0) close(file_);
}

bool StreamFile::open(const char* path) {
  const int low = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (low < 0) return false;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high >= 0) close(low);
  file_ = high >= 0 ? high : low;
  buffer_.resize(kBuffer);
  stream_.write = write_all;
  stream_.context = this;
  stream_.buffer = buffer_.data();
  stream_.capacity = buffer_.size();
  powercut_stream_begin(&stream_);
  powercut_stream_flush(&stream_);
  return stream_.failed == 0;
}

int StreamFile::write_all(void* self, const void* bytes, size_t size) {
  const int file = static_cast<StreamFile*>(self)->file_;
  const char* from = static_cast<const char*>(bytes);
  while (size != 0) {
    const ssize_t written = ::write(file, from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return -1;
    from += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

}  // namespace powercut
