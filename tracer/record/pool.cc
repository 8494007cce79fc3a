#include "tracer/record/pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>

namespace powercut {

uint64_t memory_limit() {
  uint64_t limit = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  // Control groups, version 2, as a container sees its own. The file says "max" where there is no limit.
  std::ifstream file("/sys/fs/cgroup/memory.max");
  uint64_t group = 0;
  if (file >> group && group > 0) limit = std::min(limit, group);
  return limit;
}

std::optional<EngineError> check_pool_size(uint64_t size, const std::string& where) {
  const uint64_t limit = memory_limit();
  if (size <= limit) return std::nullopt;
  return usage_error("a pool of " + std::to_string(size >> 20) + " MiB is larger than the memory, " +
                         std::to_string(limit >> 20) + " MiB",
                     where, "Make [pool] size smaller.");
}

Result<Pool> Pool::map_watched(uint64_t size, const std::string& where) {
  if (auto wrong = check_pool_size(size, where)) return *wrong;
  try {
    map_pool(size);
  } catch (const std::runtime_error& problem) {
    return harness_error(
        problem.what(), where,
        "Run the engine without sanitizers, debuggers, preloaded libraries or limits on address space.");
  }
  return Pool(reinterpret_cast<uint8_t*>(kPoolBase), size, /*watched=*/true);
}

Result<Pool> Pool::map(uint64_t size, const std::string& where) {
  if (auto wrong = check_pool_size(size, where)) return *wrong;
  void* base = mmap(reinterpret_cast<void*>(kPoolBase), size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (base == MAP_FAILED && errno == EEXIST) {
    return harness_error("something else is mapped at the pool's address", where,
                         "Run the engine without sanitizers, debuggers or preloaded libraries.");
  }
  if (base == MAP_FAILED) {
    return usage_error("cannot map a pool of " + std::to_string(size >> 20) + " MiB: " + std::strerror(errno), where,
                       "Make [pool] size smaller, or raise the limit on address space (ulimit -v).");
  }
  return Pool(static_cast<uint8_t*>(base), size, /*watched=*/false);
}

Pool::~Pool() {
  if (base_ == nullptr) return;
  if (watched_) {
    unmap_pool(size_);
  } else {
    munmap(base_, size_);
  }
}

}  // namespace powercut
