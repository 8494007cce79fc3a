// The pool files that POWERCUT_POOL_FILES names, and which open file is one of them.
#ifndef POWERCUT_TRACER_RUNTIME_POOL_FILES_H_
#define POWERCUT_TRACER_RUNTIME_POOL_FILES_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace powercut::runtime {

class PoolFiles {
 public:
  struct File {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;    // 0: not seen yet; the program may create the file, or replace it
    uint64_t size = 0;  // as it was last told
  };
  struct Open {
    uint32_t pool;
    uint64_t size;  // of the file now
    bool replaced;  // it is not the file that was there before
  };

  // Absolute paths, separated by colons.
  explicit PoolFiles(std::string_view list);

  std::span<File> all() { return files_; }
  // The pool that `fd` is an open file of.
  std::optional<Open> find(int fd);

  // Calls `take` with every page of `file` that is not all zeros. Nothing for a file that is not there.
  using TakePage = std::function<void(uint64_t offset, std::span<const uint8_t> bytes)>;
  static void read(const File& file, const TakePage& take);

 private:
  std::vector<File> files_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_POOL_FILES_H_
