// Writes the pools as they were before the recorded run, one new file each. After an error, unfinished files are
// removed.
#ifndef POWERCUT_TRACER_PMEMCHECK_POOL_IMAGES_H_
#define POWERCUT_TRACER_PMEMCHECK_POOL_IMAGES_H_

#include <optional>
#include <string>
#include <vector>

#include "tracer/format/trace.h"
#include "tracer/pmemcheck/pools.h"

namespace powercut::pmemcheck {

class PoolImages {
 public:
  PoolImages() = default;
  ~PoolImages();
  PoolImages(const PoolImages&) = delete;
  PoolImages& operator=(const PoolImages&) = delete;

  // Creates a file of the pool's name in `folder` for each pool, and changes the pools' paths to these files. A file
  // has the pool's size, filled up with zeros to a whole page of 4096 bytes: pmreorder takes no other size. Existing
  // files are never touched: they may be somebody's pool.
  std::optional<TraceError> create(const std::string& folder, std::vector<PoolFile>* pools);
  std::optional<TraceError> write(size_t pool, uint64_t offset, std::span<const uint8_t> bytes);
  // Keeps the files: the destructor then removes none.
  void keep();

 private:
  struct Image {
    std::string path;
    int fd = -1;
  };
  std::vector<Image> images_;
};

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_POOL_IMAGES_H_
