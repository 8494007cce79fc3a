// A key or a value with its size, for tables whose items differ in size. Inside a table it is a view of the caller's
// memory or of the pool.
#ifndef POWERCUT_TARGETS_COMMON_BYTES_H_
#define POWERCUT_TARGETS_COMMON_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "powercut/target.h"

namespace powercut {

struct Bytes {
  const uint8_t* data = nullptr;
  uint32_t size = 0;

  bool operator==(const Bytes& other) const { return size == other.size && std::memcmp(data, other.data, size) == 0; }
  // Copies the bytes to `to`; returns the first byte behind them.
  uint8_t* CopyTo(void* to) const {
    std::memcpy(to, data, size);
    return static_cast<uint8_t*>(to) + size;
  }
};

// The beginning of an item outside of its table, in the pool. The key's bytes follow, and then the value's.
struct ItemHeader {
  uint32_t key_size, value_size;

  uint64_t bytes() const { return sizeof *this + uint64_t{key_size} + value_size; }  // of the whole item
  // The bytes behind a header in the pool. A copy of a header has none.
  uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(this + 1); }
  Bytes key() const { return {data(), key_size}; }
  Bytes value() const { return {data() + key_size, value_size}; }
};
static_assert(sizeof(ItemHeader) == 8);

inline Bytes ViewOf(powercut_bytes bytes) {
  return {static_cast<const uint8_t*>(bytes.data), static_cast<uint32_t>(bytes.size)};
}

// Where a lookup puts the value that it has found.
class ValueRoom {
 public:
  ValueRoom(void* room, size_t capacity, size_t* size) : room_(room), capacity_(capacity), size_(size) {}
  void Put(Bytes value) {
    const size_t copied = Begin(value.size);
    std::memcpy(room_, value.data, copied);
  }
  // For a table that copies by itself: takes the value's size, and returns how many of its bytes go to data().
  size_t Begin(uint32_t size) {
    *size_ = size;
    return size < capacity_ ? size : capacity_;
  }
  uint8_t* data() const { return static_cast<uint8_t*>(room_); }

 private:
  void* room_;
  size_t capacity_;
  size_t* size_;
};

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_BYTES_H_
