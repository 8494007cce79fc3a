// Reads a target's options from the ABI's list of strings: one table of the known keys, one error text
// for the user. Costs time in proportion to the options given, since it runs at every open.
#ifndef POWERCUT_TARGETS_COMMON_OPTIONS_H_
#define POWERCUT_TARGETS_COMMON_OPTIONS_H_

#include <bit>
#include <charconv>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <system_error>

#include "powercut/target.h"

namespace powercut {

struct OptionSpec {
  const char* key;
  const char* const* values;  // null-terminated; null: the option is a number in [low, high]
  uint64_t low = 0, high = 0;
  bool power_of_two = false;
};
inline constexpr bool kPowerOfTwo = true;

// on/off options; TOML's booleans arrive as true/false.
inline constexpr const char* kSwitch[] = {"off", "on", "false", "true", nullptr};
// A switch is set when its index in kSwitch is odd.
inline bool IsOn(uint64_t chosen) { return (chosen & 1) != 0; }

[[gnu::format(printf, 2, 3)]] inline powercut_status BadConfig(const powercut_config& config, const char* format, ...) {
  if (config.error != nullptr && config.error_size != 0) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(config.error, config.error_size, format, arguments);
    va_end(arguments);
  }
  return POWERCUT_BAD_CONFIG;
}

// The position of `name` in a null-terminated list, or -1.
inline int IndexOf(const char* const* list, const char* name) {
  for (int i = 0; list[i] != nullptr; ++i) {
    if (std::strcmp(list[i], name) == 0) return i;
  }
  return -1;
}

// Writes to chosen[i] the index of the value (or the number) given for specs[i]; keeps what the caller put
// there where the option was not given.
inline powercut_status ReadOptions(const powercut_config& config, std::span<const OptionSpec> specs,
                                   std::span<uint64_t> chosen) {
  for (size_t i = 0; i < config.option_count; ++i) {
    const powercut_option& given = config.options[i];
    size_t at = 0;
    while (at < specs.size() && std::strcmp(specs[at].key, given.key) != 0) ++at;
    if (at == specs.size()) {
      return BadConfig(config, "option '%s' is unknown; 'powercut list targets' shows the options of each target",
                       given.key);
    }
    const OptionSpec& spec = specs[at];
    if (spec.values != nullptr) {
      const int index = IndexOf(spec.values, given.value);
      if (index < 0) {
        return BadConfig(config, "option %s has no value '%s'; 'powercut list targets' shows the values", given.key,
                         given.value);
      }
      chosen[at] = static_cast<uint64_t>(index);
      continue;
    }
    const char* end = given.value + std::strlen(given.value);
    uint64_t number = 0;
    const auto parsed = std::from_chars(given.value, end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number < spec.low || number > spec.high) {
      return BadConfig(config, "option %s wants a number from %llu to %llu, not '%s'", given.key,
                       static_cast<unsigned long long>(spec.low), static_cast<unsigned long long>(spec.high),
                       given.value);
    }
    if (spec.power_of_two && !std::has_single_bit(number)) {
      return BadConfig(config, "option %s wants a power of two, not %s", given.key, given.value);
    }
    chosen[at] = number;
  }
  return POWERCUT_OK;
}

// The variants of a scheme of a paper; the first one where none was named.
inline constexpr const char* kVariants[] = {"published", "hardened", nullptr};

// The same for such a scheme, with its variant.
inline powercut_status ReadOptions(const powercut_config& config, const char* scheme, std::span<const OptionSpec> specs,
                                   std::span<uint64_t> chosen, bool* hardened) {
  const powercut_status status = ReadOptions(config, specs, chosen);
  if (status != POWERCUT_OK) return status;
  const int variant = config.variant == nullptr || *config.variant == '\0' ? 0 : IndexOf(kVariants, config.variant);
  *hardened = variant == 1;
  if (variant >= 0) return POWERCUT_OK;
  return BadConfig(config, "%s has no variant '%s'; it has published and hardened", scheme, config.variant);
}

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_OPTIONS_H_
