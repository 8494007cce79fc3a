// The persistent pool as the engine maps it: zeroed memory at one fixed address. A target's pointers into the pool
// therefore mean the same in every run.
#ifndef POWERCUT_TRACER_RECORD_POOL_H_
#define POWERCUT_TRACER_RECORD_POOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "powercut/target.h"
#include "tracer/world/pool_memory.h"

namespace powercut {

class Pool {
 public:
  // `where` names the scenario in messages. Returns a usage error if the machine has less than `size` bytes.
  static Result<Pool> map(uint64_t size, const std::string& where);
  // Maps a watched pool (tracer/world/pool_memory.h): an access that no hook announces faults.
  static Result<Pool> map_watched(uint64_t size, const std::string& where);
  Pool(Pool&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(other.size_), watched_(other.watched_) {}
  Pool& operator=(Pool&&) = delete;
  ~Pool();

  // The address of the pool for the target.
  uint8_t* base() const { return base_; }
  // The bytes of the pool, for the engine.
  const uint8_t* bytes() const { return watched_ ? pool_bytes() : base_; }
  bool watched() const { return watched_; }
  uint64_t size() const { return size_; }
  powercut_pool view() const { return {base_, size_}; }

 private:
  Pool(uint8_t* base, uint64_t size, bool watched) : base_(base), size_(size), watched_(watched) {}
  uint8_t* base_;
  uint64_t size_;
  bool watched_;
};

// Returns a usage error if a pool of `size` bytes is larger than the machine's memory.
std::optional<EngineError> check_pool_size(uint64_t size, const std::string& where);
// Returns the most bytes that this process may use: the machine's memory, or less in a limited control group.
uint64_t memory_limit();

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_POOL_H_
