// Names of enumerators for people, from the source: kLogUnordered is log_unordered. The enumerators of an enum count up
// from 0, and the last one is kCount.
#ifndef POWERCUT_TARGETS_COMMON_ENUM_NAMES_H_
#define POWERCUT_TARGETS_COMMON_ENUM_NAMES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

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
  from.remove_suffix(1);
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
  constexpr auto kWrite = [] {
    std::vector<char> line;
    const auto add = [&line](std::string_view text) { line.insert(line.end(), text.begin(), text.end()); };
    add(kKey.view());
    for (size_t i = 0; i < kEnumNames<Enum>.size(); ++i) {
      add(i == 0 ? "=" : "|");
      add(kEnumNames<Enum>[i].data());
    }
    add(": ");
    add({kWords.characters, sizeof kWords.characters});  // with its null
    return line;
  };
  std::array<char, kWrite().size()> line;
  std::ranges::copy(kWrite(), line.begin());
  return line;
}();

// "key=a|b|c: words"
template <typename Enum, Text kKey, Text kWords>
consteval const char* EnumLine() {
  return kEnumLine<Enum, kKey, kWords>.data();
}

}  // namespace powercut
#endif  // POWERCUT_TARGETS_COMMON_ENUM_NAMES_H_
