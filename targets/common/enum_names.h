// Names of enumerators for people, from the source: kLogUnordered is log_unordered. The enumerators of an enum count up
// from 0, and the last one is kCount.
#ifndef POWERCUT_TARGETS_COMMON_ENUM_NAMES_H_
#define POWERCUT_TARGETS_COMMON_ENUM_NAMES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace powercut {

// A literal as a template argument.
template <size_t kSize>
struct Text {
  char characters[kSize];

  consteval Text(const char (&text)[kSize]) { std::copy_n(text, kSize, characters); }
  constexpr std::string_view view() const { return {characters, kSize - 1}; }
};

// Null-terminated.
using EnumeratorName = std::array<char, 40>;

template <auto kEnumerator>
consteval EnumeratorName MakeName() {
  std::string_view from = __PRETTY_FUNCTION__;  // "... [kEnumerator = powercut::level::Bug::kLogUnordered]"
  from.remove_prefix(from.rfind("::k") + 3);
  from = from.substr(0, from.find_first_of(";]"));  // gcc goes on behind a semicolon
  EnumeratorName name{};
  size_t size = 0;
  for (const char c : from) {
    const bool begins_word = c >= 'A' && c <= 'Z';
    if (begins_word && size != 0) name[size++] = '_';
    name[size++] = static_cast<char>(begins_word ? c - 'A' + 'a' : c);
  }
  return name;
}

template <typename Enum>
inline constexpr auto kEnumNames = []<size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array{MakeName<static_cast<Enum>(kIndex)>()...};
}(std::make_index_sequence<static_cast<size_t>(Enum::kCount)>());

template <typename Enum>
constexpr const char* NameOf(Enum enumerator) {
  return kEnumNames<Enum>[static_cast<size_t>(enumerator)].data();
}

// `name` is one of them.
template <typename Enum>
constexpr size_t IndexOfName(std::string_view name) {
  size_t index = 0;
  while (kEnumNames<Enum>[index].data() != name) ++index;
  return index;
}

template <typename Enum, Text kKey, Text kWords>
inline constexpr auto kEnumLine = [] {
  constexpr size_t kNames = [] {
    size_t size = 0;
    for (const EnumeratorName& name : kEnumNames<Enum>) size += std::string_view(name.data()).size() + 1;
    return size;
  }();
  std::array<char, kKey.view().size() + kNames + 2 + sizeof kWords.characters> line{};  // the last one is the null
  char* end = line.data();
  const auto add = [&end](std::string_view text) { end = std::copy(text.begin(), text.end(), end); };
  add(kKey.view());
  for (const EnumeratorName& name : kEnumNames<Enum>) {
    add(&name == kEnumNames<Enum>.data() ? "=" : "|");
    add(name.data());
  }
  add(": ");
  add(kWords.view());
  return line;
}();

// "key=a|b|c: words"
template <typename Enum, Text kKey, Text kWords>
consteval const char* EnumLine() {
  return kEnumLine<Enum, kKey, kWords>.data();
}

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_ENUM_NAMES_H_
