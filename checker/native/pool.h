// The persistent pool as the engine maps it: ordinary zeroed memory at one fixed address, so that pointers
// that a target keeps in it mean the same in every run.
#ifndef POWERCUT_CHECKER_NATIVE_POOL_H_
#define POWERCUT_CHECKER_NATIVE_POOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "checker/native/result.h"
#include "powercut/target.h"
#include "replayer/pool_address.h"

namespace powercut {

class Pool {
 public:
  // `where` names the scenario in messages. Usage error when `size` bytes are more than the machine has.
  static Result<Pool> map(uint64_t size, const std::string& where);
  Pool(Pool&& other) noexcept : base_(std::exchange(other.base_, nullptr)), size_(other.size_) {}
  Pool& operator=(Pool&&) = delete;
  ~Pool();

  uint8_t* base() const { return base_; }
  uint64_t size() const { return size_; }
  powercut_pool view() const { return {base_, size_}; }

 private:
  Pool(uint8_t* base, uint64_t size) : base_(base), size_(size) {}
  uint8_t* base_;
  uint64_t size_;
};

// Usage error when a pool of `size` bytes is larger than the machine's memory.
std::optional<EngineError> check_pool_size(uint64_t size, const std::string& where);
// Bytes that this process may use at most: the machine's memory, or less in a limited control group.
uint64_t memory_limit();

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_POOL_H_
