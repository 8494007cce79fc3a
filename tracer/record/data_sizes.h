// The sizes of a run's keys and values, which may differ from operation to operation (scenarios/SCHEMA.md, "Sizes").
#ifndef POWERCUT_TRACER_RECORD_DATA_SIZES_H_
#define POWERCUT_TRACER_RECORD_DATA_SIZES_H_

#include <cstdint>
#include <vector>

#include "tracer/format/size_range.h"

namespace powercut {

// Every key has one size for the whole run, which its id and the seed give. Every value has a size of its own, which
// its serial and the seed give, unless the step that writes the value says its size.
struct DataSizes {
  SizeRange key, value;
  uint64_t seed = 0;  // of the plan

  bool are_mixed() const { return !key.is_one() || !value.is_one(); }
  std::vector<uint8_t> key_of(uint64_t id) const;
  // `size`: what the step says; 0 where the step says nothing.
  std::vector<uint8_t> value_of(uint64_t serial, uint32_t size = 0) const;
  // The values that a probe writes after recovery, the longest one first: its second write has to shrink what is there.
  std::vector<uint8_t> first_probe() const;
  std::vector<uint8_t> second_probe() const;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_DATA_SIZES_H_
