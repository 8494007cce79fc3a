// The files that POWERCUT_POOL_FILES and POWERCUT_DEVICE_FILE name, and which open file is one of them.
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
  // The program may create the file, or replace it. `size`: as it was last told.
  struct File : PoolFile {
    File(std::string of, bool is_block) : block(is_block) { path = std::move(of); }
    bool block;  // a block device: a file of sectors that system calls write
  };
  struct Open {
    uint32_t pool;
    uint64_t size;  // of the file now
    bool replaced;  // it is not the file that was there before
  };

  // Absolute paths, separated by colons; `device`: one, or empty.
  PoolFiles(std::string_view list, std::string_view device);

  std::span<File> all() { return files_; }
  // The pool that `fd` is an open file of.
  std::optional<Open> find(int fd);

  // The device by any name of its file, seen from the open folder; null when the path is of another file, or of none.
  const File* named(int folder, const char* path, bool follow);

  // Calls `take` with every page of `file` that is not all zeros. Nothing for a file that is not there.
  using TakePage = std::function<void(uint64_t offset, std::span<const uint8_t> bytes)>;
  static void read(const File& file, const TakePage& take);

 private:
  std::vector<File> files_;
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_POOL_FILES_H_
