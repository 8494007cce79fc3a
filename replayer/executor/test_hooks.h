// Target code written by hand for tests: each access calls the hook that the compiler pass would put there.
#ifndef POWERCUT_REPLAYER_EXECUTOR_TEST_HOOKS_H_
#define POWERCUT_REPLAYER_EXECUTOR_TEST_HOOKS_H_

#include <cstdint>
#include <cstring>

#include "replayer/executor/executor.h"
#include "tracer/runtime/hooks.h"

namespace powercut::testing {

// Returns an address of the pool as target code knows it; only hooks may be given this address.
inline uint8_t* at(uint64_t offset) { return reinterpret_cast<uint8_t*>(kPoolBase) + offset; }

template <typename T>
T load_from(const T* address) {
  const auto place = reinterpret_cast<uint64_t>(address);
  if (place - __powercut_load_window.base < __powercut_load_window.span) {
    address = static_cast<const T*>(__powercut_load(address, sizeof(T)));
  } else if (place - __powercut_alias.base < __powercut_alias.span) {
    address = reinterpret_cast<const T*>(place + __powercut_alias.delta);  // the test looks, while nothing runs
  }
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <typename T>
void store_to(T* address, T value, uint32_t flags = 0) {
  const auto place = reinterpret_cast<uint64_t>(address);
  if (place - __powercut_store_window.base < __powercut_store_window.span) {
    address = static_cast<T*>(__powercut_store(address, sizeof(T), flags, &value));
  } else if (place - __powercut_alias.base < __powercut_alias.span) {
    address = reinterpret_cast<T*>(place + __powercut_alias.delta);
  }
  std::memcpy(address, &value, sizeof value);
}

// Each accesses the pool at an offset.
template <typename T>
T load(uint64_t offset) {
  return load_from(reinterpret_cast<const T*>(at(offset)));
}
template <typename T>
void store(uint64_t offset, T value, uint32_t flags = 0) {
  store_to(reinterpret_cast<T*>(at(offset)), value, flags);
}
inline void flush(uint64_t offset, uint32_t kind = POWERCUT_CLWB) { __powercut_flush(at(offset), kind); }
inline void fence() { __powercut_fence(POWERCUT_SFENCE); }
inline uint64_t exchange(uint64_t offset, uint64_t value) {
  void* place = __powercut_rmw_begin(at(offset), 8);
  uint64_t old;
  std::memcpy(&old, place, 8);
  std::memcpy(place, &value, 8);
  __powercut_rmw_end(at(offset), 8, 1);
  return old;
}
// A loop's back-edge.
inline void step() {
  if (--__powercut_steps < 0) __powercut_out_of_steps();
}

// Returns a content that begins with these 8-byte words; the rest is zero.
inline Content content(std::initializer_list<uint64_t> words) {
  Content out;
  size_t i = 0;
  for (uint64_t word : words) std::memcpy(&out.bytes[8 * i++], &word, 8);
  return out;
}

inline LineSet line_set(uint64_t line, std::vector<Content> contents) {
  LineSet out;
  out.line = line;
  out.contents = std::move(contents);
  out.visible = static_cast<uint32_t>(out.contents.size()) - 1;
  out.compute_diff();
  return out;
}

}  // namespace powercut::testing
#endif  // POWERCUT_REPLAYER_EXECUTOR_TEST_HOOKS_H_
