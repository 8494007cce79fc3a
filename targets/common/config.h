// The configuration of a table with keys of one size and values of one size, for tests and benchmarks.
#ifndef POWERCUT_TARGETS_COMMON_CONFIG_H_
#define POWERCUT_TARGETS_COMMON_CONFIG_H_

#include <cstddef>
#include <cstdint>

#include "powercut/target.h"

namespace powercut {

inline powercut_config ConfigOf(const char* variant, const powercut_option* options, size_t count, uint32_t key_size,
                                uint32_t value_size, char* error = nullptr, size_t error_size = 0) {
  return {.variant = variant,
          .options = options,
          .option_count = count,
          .key_size = key_size,
          .value_size = value_size,
          .error = error,
          .error_size = error_size,
          .least_key_size = key_size,
          .least_value_size = value_size};
}

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_CONFIG_H_
