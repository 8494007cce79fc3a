#include "tracer/record/key_bytes.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace powercut {

namespace {

constexpr uint64_t kChunkStep = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio, splitmix64's own increment
constexpr uint64_t kFirst = 0xBF58476D1CE4E5B9, kSecond = 0x94D049BB133111EB;
constexpr uint64_t kValueBase = uint64_t{1} << 32;
constexpr uint8_t kZerosByte = 0x00, kOnesByte = 0xff;

// x with x * odd == 1 (mod 2^64), by Newton's iteration: each step doubles the correct bits.
constexpr uint64_t inverse(uint64_t odd) {
  uint64_t x = odd;  // correct to 3 bits
  for (int i = 0; i < 5; ++i) x *= 2 - odd * x;
  return x;
}
static_assert(kFirst * inverse(kFirst) == 1 && kSecond * inverse(kSecond) == 1);

// Inverts x ^ (x >> shift).
uint64_t unshift(uint64_t value, int shift) {
  uint64_t x = value;
  for (int known = shift; known < 64; known += shift) x = value ^ (x >> shift);
  return x;
}

std::vector<uint8_t> spread(uint64_t number, uint32_t size) {
  std::vector<uint8_t> bytes(size);
  for (uint32_t at = 0; at < size; ++at) {
    bytes[at] = static_cast<uint8_t>(mix(number + kChunkStep * (at / 8)) >> (8 * (at % 8)));
  }
  return bytes;
}

// The number n of spread(n, bytes.size()) == bytes.
std::optional<uint64_t> gather(std::span<const uint8_t> bytes) {
  if (bytes.size() < kMinIdentityBytes) return std::nullopt;
  uint64_t first = 0;
  for (int i = 0; i < 8; ++i) first |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  uint64_t number = unmix(first);
  // Nobody's bytes almost always fail here, before anything is built from them.
  if (number == 0 || number > kValueBase + kMaxKeyId) return std::nullopt;
  if (!std::ranges::equal(spread(number, static_cast<uint32_t>(bytes.size())), bytes)) return std::nullopt;
  return number;
}

}  // namespace

uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * kFirst;
  value = (value ^ (value >> 27)) * kSecond;
  return value ^ (value >> 31);
}

uint64_t unmix(uint64_t value) {
  value = unshift(value, 31) * inverse(kSecond);
  value = unshift(value, 27) * inverse(kFirst);
  return unshift(value, 30);
}

std::vector<uint8_t> key_bytes(uint64_t id, uint32_t size) {
  if (id == kZerosKey) return std::vector<uint8_t>(size, kZerosByte);
  if (id == kOnesKey) return std::vector<uint8_t>(size, kOnesByte);
  return spread(id, size);
}
std::vector<uint8_t> value_bytes(uint64_t serial, uint32_t size) { return spread(kValueBase + serial, size); }

std::optional<uint64_t> key_id(std::span<const uint8_t> bytes) {
  const auto all = [bytes](uint8_t byte) {
    return bytes.size() >= kMinIdentityBytes && std::ranges::all_of(bytes, [byte](uint8_t b) { return b == byte; });
  };
  if (all(kZerosByte)) return kZerosKey;
  if (all(kOnesByte)) return kOnesKey;
  std::optional<uint64_t> number = gather(bytes);
  return number && *number <= kMaxNumberedKey ? number : std::nullopt;
}

std::optional<uint64_t> value_serial(std::span<const uint8_t> bytes) {
  std::optional<uint64_t> number = gather(bytes);
  if (!number || *number <= kValueBase) return std::nullopt;
  return *number - kValueBase;
}

std::optional<uint64_t> named_key(std::string_view name) {
  if (name == "zeros") return kZerosKey;
  if (name == "ones") return kOnesKey;
  return std::nullopt;
}

std::string key_name(uint64_t id) {
  std::string name;
  append_key_name(id, &name);
  return name;
}

void append_key_name(uint64_t id, std::string* out) {
  if (id == kZerosKey) {
    out->append("zeros");
  } else if (id == kOnesKey) {
    out->append("ones");
  } else {
    char digits[20];
    out->append(digits, std::to_chars(digits, std::end(digits), id).ptr);
  }
}

}  // namespace powercut
