// A scheme's options, each declared once:
//
//   constexpr OptionTable<Options> kOptions({
//       {"top=4|2|8|...: initial number of buckets, a power of two", Log2<&Options::top_log2>(2, 1 << 28)},
//       {"auto_expand=on|off: an insert that finds no place expands the table", Switch<&Options::auto_expand>()},
//       {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
//   });
//
// `powercut list targets` shows the line, and the reader goes by it: the key, the values with the default first, and
// "..." where any number in the range is a value. The compiler checks a table. Reading allocates nothing, and costs
// time in proportion to the options given, since it runs at every open.
#ifndef POWERCUT_TARGETS_COMMON_OPTIONS_H_
#define POWERCUT_TARGETS_COMMON_OPTIONS_H_

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string_view>

#include "powercut/target.h"
#include "targets/common/enum_names.h"
#include "targets/common/scheme_table.h"

namespace powercut {

[[gnu::format(printf, 2, 3)]] inline powercut_status BadConfig(const powercut_config& config, const char* format, ...) {
  if (config.error != nullptr && config.error_size != 0) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(config.error, config.error_size, format, arguments);
    va_end(arguments);
  }
  return POWERCUT_BAD_CONFIG;
}

// Not constexpr: a table that comes here does not compile.
void WrongTable();

// The number that consists of these digits.
constexpr std::optional<uint64_t> NumberIn(std::string_view digits) {
  uint64_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<uint64_t>(c - '0');
    if (number > (std::numeric_limits<uint64_t>::max() - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
  }
  return digits.empty() ? std::nullopt : std::optional(number);
}

// The meaning of an option's values.
template <typename Options>
struct Meaning {
  uint64_t (*number_of)(std::string_view value);  // of one that is listed
  void (*put)(Options* out, uint64_t number);
  uint64_t low = 0, high = std::numeric_limits<uint64_t>::max();  // where the values end with "..."
  bool power_of_two = false;
  const char* unlisted = "";  // values that the line does not show
};

template <typename Options>
struct Option {
  const char* line;
  Meaning<Options> meaning;
};

template <typename Member>
struct MemberOf;
template <typename Options, typename Value>
struct MemberOf<Value Options::*> {
  using Meaning = powercut::Meaning<Options>;
  using Type = Value;
};
template <auto kMember>
using MeaningFor = typename MemberOf<decltype(kMember)>::Meaning;
template <auto kMember>
using TypeOf = typename MemberOf<decltype(kMember)>::Type;

// bool: on or off. TOML's booleans arrive as true and false.
template <auto kMember>
consteval MeaningFor<kMember> Switch() {
  return {.number_of = [](std::string_view value) -> uint64_t { return value == "on" || value == "true"; },
          .put = [](auto* out, uint64_t number) { out->*kMember = number != 0; },
          .unlisted = "false|true"};
}

// bool: whether the value is `kSet`.
template <auto kMember, Text kSet>
consteval MeaningFor<kMember> Flag() {
  return {.number_of = [](std::string_view value) -> uint64_t { return value == kSet.view(); },
          .put = [](auto* out, uint64_t number) { out->*kMember = number != 0; }};
}

// An enum: the enumerator of this name.
template <auto kMember>
consteval MeaningFor<kMember> Named() {
  return {.number_of = [](std::string_view value) { return IndexOfName<TypeOf<kMember>>(value); },
          .put = [](auto* out, uint64_t number) { out->*kMember = static_cast<TypeOf<kMember>>(number); }};
}

// A number: one of those listed, or one from `low` to `high`.
template <auto kMember>
consteval MeaningFor<kMember> Number(uint64_t low = 0,
                                     TypeOf<kMember> high = std::numeric_limits<TypeOf<kMember>>::max()) {
  return {.number_of = [](std::string_view value) { return NumberIn(value).value(); },
          .put = [](auto* out, uint64_t number) { out->*kMember = static_cast<TypeOf<kMember>>(number); },
          .low = low,
          .high = high};
}

template <auto kMember>
consteval MeaningFor<kMember> PowerOfTwo(uint64_t low, TypeOf<kMember> high) {
  MeaningFor<kMember> meaning = Number<kMember>(low, high);
  meaning.power_of_two = true;
  return meaning;
}

// A power of two, of which the logarithm is stored.
template <auto kMember>
consteval MeaningFor<kMember> Log2(uint64_t low, uint64_t high) {
  return {
      .number_of = [](std::string_view value) { return NumberIn(value).value(); },
      .put = [](auto* out, uint64_t number) { out->*kMember = static_cast<TypeOf<kMember>>(std::countr_zero(number)); },
      .low = low,
      .high = high,
      .power_of_two = true};
}

template <typename Options>
class OptionTable {
 public:
  static constexpr size_t kMost = 15;

  const char* lines[kMost + 1] = {};  // powercut_target::options

  consteval OptionTable(std::initializer_list<Option<Options>> options) {
    for (size_t i = 0; i < options.size(); ++i) {
      const Option<Options>& option = options.begin()[i];
      const std::string_view line = option.line, key = line.substr(0, line.find('='));
      std::string_view values = line.substr(0, line.find(':')).substr(key.size() + 1);
      Entry& entry = entries_[i];
      entry = {.meaning = option.meaning, .key = AddWord(key), .open = values.ends_with("|..."), .first = value_count_};
      lines[i] = option.line;
      if (entry.open) values.remove_suffix(4);
      AddValues(values, option.meaning);
      for (size_t other = entry.first + 1; other < value_count_; ++other) {
        if (values_[other].number == values_[entry.first].number) WrongTable();  // a Flag that no value sets
      }
      option.meaning.put(&defaults_, values_[entry.first].number);
      AddValues(option.meaning.unlisted, option.meaning);
      entry.end = value_count_;
    }
  }

  // The defaults, and what the configuration gives.
  powercut_status Read(const powercut_config& config, Options* out) const {
    *out = defaults_;
    for (size_t i = 0; i < config.option_count; ++i) {
      const powercut_option& given = config.options[i];
      const Entry* entry = Find(given.key);
      if (entry == nullptr) {
        return BadConfig(config, "option '%s' is unknown; 'powercut list targets' shows the options of each target",
                         given.key);
      }
      const Meaning<Options>& meaning = entry->meaning;
      const std::optional<uint64_t> number = entry->open ? NumberIn(given.value) : Listed(*entry, given.value);
      if (!number && !entry->open) {
        return BadConfig(config, "option %s has no value '%s'; 'powercut list targets' shows the values", given.key,
                         given.value);
      }
      if (!number || *number < meaning.low || *number > meaning.high) {
        return BadConfig(config, "option %s wants a number from %llu to %llu, not '%s'", given.key,
                         static_cast<unsigned long long>(meaning.low), static_cast<unsigned long long>(meaning.high),
                         given.value);
      }
      if (meaning.power_of_two && !std::has_single_bit(*number)) {
        return BadConfig(config, "option %s wants a power of two, not %s", given.key, given.value);
      }
      meaning.put(out, *number);
    }
    out->key_size = static_cast<decltype(out->key_size)>(config.key_size);
    out->value_size = static_cast<decltype(out->value_size)>(config.value_size);
    // A caller of an earlier ABI leaves them 0: all keys have one size then, and all values.
    if constexpr (requires { out->least_key_size; }) {
      out->least_key_size = config.least_key_size != 0 ? config.least_key_size : config.key_size;
      out->least_value_size = config.least_value_size != 0 ? config.least_value_size : config.value_size;
    }
    return POWERCUT_OK;
  }

 private:
  struct Value {
    uint16_t name;  // in words_
    uint64_t number;
  };
  struct Entry {
    Meaning<Options> meaning;
    uint16_t key;             // in words_
    bool open;                // any number in the range
    uint16_t first, end = 0;  // in values_
  };

  constexpr uint16_t AddWord(std::string_view word) {
    const uint16_t at = word_end_;
    for (const char c : word) words_[word_end_++] = c;
    words_[word_end_++] = '\0';
    return at;
  }

  constexpr void AddValues(std::string_view values, const Meaning<Options>& meaning) {
    while (!values.empty()) {
      const std::string_view value = values.substr(0, values.find('|'));
      values.remove_prefix(std::min(value.size() + 1, values.size()));
      const uint64_t number = meaning.number_of(value);
      if (number < meaning.low || number > meaning.high) WrongTable();
      if (meaning.power_of_two && !std::has_single_bit(number)) WrongTable();
      values_[value_count_++] = {AddWord(value), number};
    }
  }

  const Entry* Find(const char* key) const {
    for (size_t i = 0; lines[i] != nullptr; ++i) {
      if (std::strcmp(words_ + entries_[i].key, key) == 0) return &entries_[i];
    }
    return nullptr;
  }

  std::optional<uint64_t> Listed(const Entry& entry, const char* name) const {
    for (uint16_t i = entry.first; i < entry.end; ++i) {
      if (std::strcmp(words_ + values_[i].name, name) == 0) return values_[i].number;
    }
    return std::nullopt;
  }

  Options defaults_{};
  Entry entries_[kMost]{};
  // Null-terminated words: comparing them is one call each, of code that may be instrumented.
  char words_[2048]{};
  Value values_[128]{};
  uint16_t word_end_ = 0, value_count_ = 0;
};

// The position of `name` in a null-terminated list, or -1.
inline int IndexOf(const char* const* list, const char* name) {
  for (int i = 0; list[i] != nullptr; ++i) {
    if (std::strcmp(list[i], name) == 0) return i;
  }
  return -1;
}

// The variants of a scheme of a paper; the first one where none was named.
inline constexpr const char* kVariants[] = {"published", "hardened", nullptr};

inline powercut_status CheckSizes(const powercut_config& config, const char* scheme, ItemSizes sizes) {
  const uint32_t key = config.key_size, value = config.value_size;
  if (sizes.words) {
    if (key == 8 && value == 8) return POWERCUT_OK;
    return BadConfig(config, "%s takes keys and values of 8 bytes, not %u and %u", scheme, key, value);
  }
  if (key != 0 && key <= sizes.most_key && value != 0 && value <= sizes.most_value) return POWERCUT_OK;
  return BadConfig(config, "%s takes keys of 1 to %u bytes and values of 1 to %u bytes, not %u and %u", scheme,
                   sizes.most_key, sizes.most_value, key, value);
}

// Reads a configuration of such a scheme, with its variant.
template <typename Options>
powercut_status ReadOptions(const powercut_config& config, const char* scheme, const OptionTable<Options>& table,
                            Options* out, std::optional<ItemSizes> sizes = std::nullopt) {
  const powercut_status status = table.Read(config, out);
  if (status != POWERCUT_OK) return status;
  const int variant = config.variant == nullptr || *config.variant == '\0' ? 0 : IndexOf(kVariants, config.variant);
  if constexpr (requires { out->hardened; }) out->hardened = variant == 1;
  if (variant < 0) {
    return BadConfig(config, "%s has no variant '%s'; it has published and hardened", scheme, config.variant);
  }
  return sizes ? CheckSizes(config, scheme, *sizes) : POWERCUT_OK;
}

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_OPTIONS_H_
