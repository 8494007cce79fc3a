#include "tracer/record/data_sizes.h"

#include "tracer/record/key_bytes.h"

namespace powercut {
namespace {

// The serials of values that no scenario writes (kMaxKeyId bounds those that a scenario may write).
constexpr uint64_t kProbeSerial = kMaxKeyId - 1;

uint32_t drawn(SizeRange range, uint64_t number, uint64_t seed) {
  if (range.is_one()) return static_cast<uint32_t>(range.most);
  return static_cast<uint32_t>(range.least + mix(mix(number) + seed) % (range.most - range.least + 1));
}

}  // namespace

std::vector<uint8_t> DataSizes::key_of(uint64_t id) const { return key_bytes(id, drawn(key, id, seed)); }

std::vector<uint8_t> DataSizes::value_of(uint64_t serial, uint32_t size) const {
  return value_bytes(serial, size != 0 ? size : drawn(value, serial, ~seed));
}

std::vector<uint8_t> DataSizes::first_probe() const { return value_bytes(kProbeSerial, value.most); }
std::vector<uint8_t> DataSizes::second_probe() const { return value_bytes(kProbeSerial + 1, value.least); }

}  // namespace powercut
