// A pool as a file, for a tracer that has a C library: the file's identity, and its bytes by pages. C++11 without
// exceptions or RTTI, as a Pin kit asks.
#ifndef POWERCUT_TRACER_STREAM_POOL_FILE_H_
#define POWERCUT_TRACER_STREAM_POOL_FILE_H_

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace powercut {

constexpr uint64_t kFilePage = 4096;

// A path, and the file that the path led to when somebody last looked. Files are compared by device and inode.
struct PoolFile {
  std::string path;  // empty: memory that is no file
  uint64_t device = 0, inode = 0, size = 0;
  bool exists = false;

  bool is(const struct stat& status) const {
    return exists && device == static_cast<uint64_t>(status.st_dev) && inode == static_cast<uint64_t>(status.st_ino);
  }
  // Whether the path now leads to the file of this status: the file may have been made, or replaced.
  bool leads_to(const struct stat& status) const {
    struct stat now;
    return !path.empty() && stat(path.c_str(), &now) == 0 && now.st_dev == status.st_dev && now.st_ino == status.st_ino;
  }
  void know(const struct stat& status) {
    exists = true;
    device = static_cast<uint64_t>(status.st_dev);
    inode = static_cast<uint64_t>(status.st_ino);
  }
};

inline bool is_zero(const uint8_t* bytes, size_t size) {
  return std::all_of(bytes, bytes + size, [](uint8_t byte) { return byte == 0; });
}

// Calls visit(offset, bytes, size) for the pages of [offset, end) of the file, up to the file's end. The first and last
// one may be less than a page. Holes are passed over; a file that is not there has no pages.
template <typename Visit>
void each_page(const std::string& path, uint64_t offset, uint64_t end, const Visit& visit) {
  constexpr int kSeekData = 3;  // SEEK_DATA, which a kit's headers may lack
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  std::vector<uint8_t> buffer(64 * kFilePage);
  while (offset < end) {
    const off_t data = lseek(file, static_cast<off_t>(offset), kSeekData);
    if (data < 0 && errno == ENXIO) break;  // nothing but a hole is left
    if (data > 0) offset = std::max(offset, static_cast<uint64_t>(data) / kFilePage * kFilePage);
    if (offset >= end) break;
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(buffer.size() - offset % kFilePage, end - offset));
    const ssize_t got = pread(file, buffer.data(), wanted, static_cast<off_t>(offset));
    if (got <= 0) break;
    for (size_t at = 0; at < static_cast<size_t>(got);) {
      const size_t size = std::min<size_t>(kFilePage - (offset + at) % kFilePage, static_cast<size_t>(got) - at);
      visit(offset + at, buffer.data() + at, static_cast<uint32_t>(size));
      at += size;
    }
    offset += static_cast<uint64_t>(got);
  }
  close(file);
}

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_POOL_FILE_H_
