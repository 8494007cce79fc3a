// Threads that come back to a record of their own, though no record has a thread's name. A thread is known by its
// stack.
#ifndef POWERCUT_TARGETS_COMMON_KNOWN_BY_STACK_H_
#define POWERCUT_TARGETS_COMMON_KNOWN_BY_STACK_H_

#include <cstdint>

namespace powercut {

class KnownByStack {
 public:
  // `home` lies on the stack of the thread that opens the table.
  explicit KnownByStack(const void* home) : home_(reinterpret_cast<uint64_t>(home)) {}

  // The record, out of `records`, that the thread with this place on its stack prefers. Any other record would do as
  // well. The opening thread has the first record, wherever the system has put its stack.
  uint32_t Among(uint32_t records, const void* stack) const {
    const auto at = reinterpret_cast<uint64_t>(stack);
    return at - home_ + kNearby < 2 * kNearby ? 0 : static_cast<uint32_t>(at >> 19) % records;
  }

 private:
  static constexpr uint64_t kNearby = uint64_t{8} << 20;

  uint64_t home_;
};

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_KNOWN_BY_STACK_H_
