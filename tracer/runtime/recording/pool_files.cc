#include "tracer/runtime/recording/pool_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace powercut::runtime {
namespace {

constexpr size_t kPage = 4096;

bool same_file(const struct stat& a, const PoolFiles::File& b) { return a.st_dev == b.device && a.st_ino == b.inode; }

}  // namespace

PoolFiles::PoolFiles(std::string_view list, std::string_view device) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end != 0) files_.push_back({.path = std::string(list.substr(0, end))});
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  if (!device.empty()) files_.push_back({.path = std::string(device), .block = true});
}

const PoolFiles::File* PoolFiles::named(int folder, const char* path, bool follow) {
  struct stat status{};
  if (path == nullptr || fstatat(folder, path, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return nullptr;
  for (File& file : files_) {
    struct stat now{};
    if (!file.block || !S_ISREG(status.st_mode)) continue;
    if (same_file(status, file)) return &file;
    if (stat(file.path.c_str(), &now) == 0 && now.st_dev == status.st_dev && now.st_ino == status.st_ino) return &file;
  }
  return nullptr;
}

std::optional<PoolFiles::Open> PoolFiles::find(int fd) {
  struct stat open{};
  if (fd < 0 || fstat(fd, &open) != 0 || !S_ISREG(open.st_mode)) return std::nullopt;
  for (uint32_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    const uint64_t size = static_cast<uint64_t>(open.st_size);
    if (same_file(open, file)) return Open{i, size, false};
    struct stat named{};
    if (stat(file.path.c_str(), &named) != 0 || named.st_dev != open.st_dev || named.st_ino != open.st_ino) continue;
    const bool replaced = file.inode != 0;
    file.device = open.st_dev;
    file.inode = open.st_ino;
    return Open{i, size, replaced};
  }
  return std::nullopt;
}

void PoolFiles::read(const File& file, const TakePage& take) {
  const int fd = open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  // A pool is mostly holes.
  for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
    const off_t hole = lseek(fd, at, SEEK_HOLE);
    at = at / static_cast<off_t>(kPage) * static_cast<off_t>(kPage);
    while (at < hole) {
      std::array<uint8_t, kPage> page;
      const ssize_t size = pread(fd, page.data(), page.size(), at);
      if (size <= 0) break;
      const std::span bytes(page.data(), static_cast<size_t>(size));
      if (!std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; })) take(static_cast<uint64_t>(at), bytes);
      at += size;
    }
    if (at < hole) break;
  }
  close(fd);
}

}  // namespace powercut::runtime
