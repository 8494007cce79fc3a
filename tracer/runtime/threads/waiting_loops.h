// How the scheduler of programs tells that a thread goes round a loop and waits. The signs are two:
//
// - The thread is in a state that it was in before: the registers, stack and memory are alike. The thread will do what
//   it did then, so it sleeps until memory has changed. Memory takes part by a digest which each store brings up to
//   date. A turn which takes a lock and gives it back thus ends with the memory that the turn began with.
// - The thread comes to one use of one place again and again, and has changed nothing in between that others could see.
//   The thread may count its turns, or wait longer each time. It lets others go on, and going on all the same is a
//   preemption.
//
// Private to the scheduler of programs.
#ifndef POWERCUT_TRACER_RUNTIME_THREADS_WAITING_LOOPS_H_
#define POWERCUT_TRACER_RUNTIME_THREADS_WAITING_LOOPS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace powercut::runtime {

inline uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}
inline uint64_t mixed(uint64_t before, uint64_t value) { return mixed(before * 0x9e3779b97f4a7c15 + value); }
inline uint64_t mixed(uint64_t before, const void* bytes, uint64_t size) {
  const char* at = static_cast<const char*>(bytes);
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    before = mixed(before, word);
  }
  uint64_t rest = 0;
  memcpy(&rest, at, size);
  return size == 0 ? before : mixed(before, rest);
}

// A digest of all bytes that hooks announced to be stored: equal contents have equal digests.
class MemoryDigest {
 public:
  uint64_t value() const { return value_; }
  // The bytes at `address` are `before`, and become `after`. `before` or `after` may be the bytes that lie at
  // `address`.
  void change(uint64_t address, const void* before, const void* after, uint64_t size) {
    const auto* old = static_cast<const uint8_t*>(before);
    const auto* fresh = static_cast<const uint8_t*>(after);
    for (uint64_t done = 0; done < size;) {
      const uint64_t at = address + done, within = at % 8;
      const uint64_t part = std::min(8 - within, size - done);
      uint64_t word;
      memcpy(&word, reinterpret_cast<const void*>(at - within), 8);
      value_ += term(at - within, patched(word, within, fresh + done, part)) -
                term(at - within, patched(word, within, old + done, part));
      done += part;
    }
  }
  // Memory has changed, and nobody knows which bytes were there before.
  void change() { value_ += mixed(++unknown_, 1); }

 private:
  static uint64_t term(uint64_t address, uint64_t word) { return mixed(mixed(address), word); }
  static uint64_t patched(uint64_t word, uint64_t within, const uint8_t* bytes, uint64_t size) {
    memcpy(reinterpret_cast<uint8_t*>(&word) + within, bytes, size);
    return word;
  }

  uint64_t value_ = 0, unknown_ = 0;
};

// Counts uses of places by one thread since it has changed something that others could see.
class Retries {
 public:
  // Counts a use by code at `pc`. Returns whether the use was made so often that its loop counts as one that waits.
  bool again(const void* pc, uint64_t address) {
    const uint64_t key = mixed(reinterpret_cast<uint64_t>(pc), address);
    Use& use = uses_[key % uses_.size()];
    if (use.key != key) use = {key, 0};
    return ++use.count > kMost;
  }
  void over() { uses_.fill({}); }

 private:
  static constexpr uint32_t kMost = 16;
  struct Use {
    uint64_t key = 0;
    uint32_t count = 0;
  };
  std::array<Use, 64> uses_{};
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_THREADS_WAITING_LOOPS_H_
