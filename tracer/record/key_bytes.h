// Turns key ids and value serials into bytes and back (scenarios/SCHEMA.md, "How a key id becomes bytes").
#ifndef POWERCUT_TRACER_RECORD_KEY_BYTES_H_
#define POWERCUT_TRACER_RECORD_KEY_BYTES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace powercut {

// Key ids and value serials are 1..kMaxKeyId. Values use the numbers from 2^32 on, so both stay below it.
inline constexpr uint64_t kMaxKeyId = (uint64_t{1} << 32) - 1;
// The keys "zeros" and "ones", whose bytes are all 0x00 and all 0xff: tables reserve such keys for marks of their own.
inline constexpr uint64_t kZerosKey = kMaxKeyId - 1, kOnesKey = kMaxKeyId;
// The largest id of any other key.
inline constexpr uint64_t kMaxNumberedKey = kMaxKeyId - 2;
// The least size of a key or value: shorter ones could coincide.
inline constexpr uint32_t kMinIdentityBytes = 8;

// The finaliser of splitmix64: a bijection in which every bit of the input moves every bit of the output.
uint64_t mix(uint64_t value);
uint64_t unmix(uint64_t value);

std::vector<uint8_t> key_bytes(uint64_t id, uint32_t size);
std::vector<uint8_t> value_bytes(uint64_t serial, uint32_t size);
inline std::string text_of(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

// Both return the id or serial to which the bytes belong; nothing for torn or foreign bytes.
std::optional<uint64_t> key_id(std::span<const uint8_t> bytes);
std::optional<uint64_t> value_serial(std::span<const uint8_t> bytes);

// Returns the id of "zeros" or "ones"; nothing for another text.
std::optional<uint64_t> named_key(std::string_view name);
// Returns "17", "zeros" or "ones".
std::string key_name(uint64_t id);
// Appends the name of a key to `out`.
void append_key_name(uint64_t id, std::string* out);

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_KEY_BYTES_H_
