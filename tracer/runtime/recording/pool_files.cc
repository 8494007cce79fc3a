#include "tracer/runtime/recording/pool_files.h"

#include <fcntl.h>

#include <algorithm>

#include "tracer/stream/pool_file.h"

namespace powercut::runtime {
PoolFiles::PoolFiles(std::string_view list, std::string_view device) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    if (end != 0) files_.emplace_back(std::string(list.substr(0, end)), false);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  if (!device.empty()) files_.emplace_back(std::string(device), true);
}

const PoolFiles::File* PoolFiles::named(int folder, const char* path, bool follow) {
  struct stat status{};
  if (path == nullptr || fstatat(folder, path, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return nullptr;
  for (File& file : files_) {
    if (file.block && S_ISREG(status.st_mode) && (file.is(status) || file.leads_to(status))) return &file;
  }
  return nullptr;
}

std::optional<PoolFiles::Open> PoolFiles::find(int fd) {
  struct stat open{};
  if (fd < 0 || fstat(fd, &open) != 0 || !S_ISREG(open.st_mode)) return std::nullopt;
  for (uint32_t i = 0; i < files_.size(); ++i) {
    File& file = files_[i];
    const uint64_t size = static_cast<uint64_t>(open.st_size);
    if (file.is(open)) return Open{i, size, false};
    if (!file.leads_to(open)) continue;
    const bool replaced = file.exists;
    file.know(open);
    return Open{i, size, replaced};
  }
  return std::nullopt;
}

void PoolFiles::read(const File& file, const TakePage& take) {
  each_page(file.path, 0, UINT64_MAX, [&](uint64_t offset, const uint8_t* bytes, uint32_t size) {
    if (!is_zero(bytes, size)) take(offset, {bytes, size});
  });
}

}  // namespace powercut::runtime
