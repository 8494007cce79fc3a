// The one source of randomness of a workload: splitmix64, seeded by the plan.
#ifndef POWERCUT_TRACER_RECORD_RANDOM_H_
#define POWERCUT_TRACER_RECORD_RANDOM_H_

#include <cstdint>

#include "tracer/record/key_bytes.h"

namespace powercut {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15); }
  // Returns a number in [0, bound). The bias is below bound / 2^64.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  // Returns a number in [0, 1), with 53 random bits.
  double real() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_RANDOM_H_
