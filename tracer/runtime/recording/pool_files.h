// The files that POWERCUT_POOL_FILES and POWERCUT_DEVICE_FILE name, and whether an open file is one of them.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_POOL_FILES_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_POOL_FILES_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/stream/pool_file.h"

namespace powercut::runtime {

class PoolFiles {
 public:
  // A named file, which the program may create or replace. `size`: the size that the stream was last told.
  struct File : PoolFile {
    File(std::string of, bool is_block) : block(is_block) { path = std::move(of); }
    bool block;  // a block device: a file of sectors that system calls write
  };
  struct Open {
    uint32_t pool;
    uint64_t size;  // of the file now, in bytes
    bool replaced;  // the file is not the one that was there before
  };

  // `list`: absolute paths, separated by colons; `device`: one path, or empty.
  PoolFiles(std::string_view list, std::string_view device);

  std::span<File> all() { return files_; }
  // Returns the pool that `fd` is an open file of; nothing if it is none.
  std::optional<Open> find(int fd);

  // Returns the device if the path, seen from the open folder, leads to its file by any name; null for every other
  // path.
  const File* named(int folder, const char* path, bool follow);

  // Calls `take` with every page of `file` that is not all zeros. Does nothing if the file does not exist.
  using TakePage = std::function<void(uint64_t offset, std::span<const uint8_t> bytes)>;
  static void read(const File& file, const TakePage& take);

 private:
  std::vector<File> files_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_POOL_FILES_H_
