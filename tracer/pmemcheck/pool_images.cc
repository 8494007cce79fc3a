#include "tracer/pmemcheck/pool_images.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

namespace powercut::pmemcheck {
namespace {

// pmreorder writes a file back page by page, and stops where the page of a store is not whole.
uint64_t whole_pages(uint64_t size) { return (size + kPage - 1) / kPage * kPage; }

}  // namespace

PoolImages::~PoolImages() {
  for (const Image& image : images_) {
    close(image.fd);
    unlink(image.path.c_str());
  }
}

std::optional<TraceError> PoolImages::create(const std::string& folder, std::vector<PoolFile>* pools) {
  std::error_code problem;
  const std::filesystem::path place = std::filesystem::absolute(folder, problem);
  if (!problem) std::filesystem::create_directories(place, problem);
  if (problem) {
    return TraceError{"cannot make the folder (" + problem.message() + ")", folder, "Name a folder for the pools."};
  }
  std::set<std::string> names;
  for (PoolFile& pool : *pools) {
    std::string name = std::filesystem::path(pool.path).filename();
    if (name.empty()) name = "pool";
    // Pools of two folders may share a name.
    for (int number = 2; !names.insert(name).second; ++number) {
      name = std::filesystem::path(pool.path).filename().string() + "." + std::to_string(number);
    }
    const std::string path = place / name;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
      return TraceError{std::string("cannot create it (") + std::strerror(errno) + ")", path,
                        "Name a folder in which no file of that name is; nothing is overwritten."};
    }
    images_.push_back({path, fd});
    if (ftruncate(fd, static_cast<off_t>(whole_pages(pool.size))) != 0) {
      return TraceError{std::string("cannot make it as large as the pool (") + std::strerror(errno) + ")", path,
                        "Free some space, or name a folder elsewhere."};
    }
    pool.path = path;
  }
  return std::nullopt;
}

std::optional<TraceError> PoolImages::write(size_t pool, uint64_t offset, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(images_[pool].fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      return TraceError{std::string("cannot write it (") + std::strerror(errno) + ")", images_[pool].path,
                        "Free some space, or name a folder elsewhere."};
    }
    bytes = bytes.subspan(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return std::nullopt;
}

void PoolImages::keep() {
  for (const Image& image : images_) close(image.fd);
  images_.clear();
}

}  // namespace powercut::pmemcheck
