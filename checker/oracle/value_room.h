// The arguments of a call to a target: bytes, and a buffer for the value that a lookup finds.
#ifndef POWERCUT_CHECKER_ORACLE_VALUE_ROOM_H_
#define POWERCUT_CHECKER_ORACLE_VALUE_ROOM_H_

#include <array>
#include <span>
#include <string_view>

#include "powercut/target.h"
#include "tracer/format/layout.h"

namespace powercut {

inline powercut_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

template <size_t kSize, typename Use>
[[gnu::noinline]] auto with_room(const Use& use) {
  std::array<char, kSize> room;
  return use(std::span<char>(room));
}

// [target] Returns use(room), with room for more than a value of `size` bytes, so that one that is too long shows as
// one. It lies on the stack, which is copied wherever a query branches: it is small where values are.
template <typename Use>
auto with_value_room(size_t size, const Use& use) {
  constexpr size_t kSmall = 192, kMore = 64;
  return size <= kSmall ? with_room<kSmall + kMore>(use) : with_room<layout::kMaxOperationBytes + kMore>(use);
}

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_VALUE_ROOM_H_
