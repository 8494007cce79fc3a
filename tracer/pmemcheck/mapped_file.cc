#include "tracer/pmemcheck/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace powercut::pmemcheck {

std::unique_ptr<MappedFile> MappedFile::open(const std::string& path, TraceError* error) {
  auto refuse = [&](const std::string& what) {
    *error = {what, path, "Name a regular file that can be read."};
    return nullptr;
  };
  // Not blocking: opening a pipe that nobody writes would wait for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refuse(std::string("cannot open it (") + std::strerror(errno) + ")");
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return refuse("this is no regular file");
  }
  const size_t size = static_cast<size_t>(status.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int problem = errno;
  close(fd);
  if (data == MAP_FAILED) return refuse(std::string("cannot map it (") + std::strerror(problem) + ")");
  return std::unique_ptr<MappedFile>(new MappedFile({static_cast<const char*>(data), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace powercut::pmemcheck
