#include "tracer/calls/mark_line.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "tracer/format/layout.h"
#include "tracer/format/trace_names.h"

namespace powercut {
namespace {

// The kinds of targets/include/powercut/mark.h.
constexpr OpKind kKinds[] = {OpKind::kFormat, OpKind::kOpen,   OpKind::kInsert,   OpKind::kUpdate,
                             OpKind::kErase,  OpKind::kLookup, OpKind::kMaintain, OpKind::kClose};
// The values of powercut_status (powercut/target.h), from 0.
constexpr std::string_view kStatuses[] = {"OK",          "NOT_FOUND",  "FULL",   "NOT_FORMATTED", "CORRUPT",
                                          "UNSUPPORTED", "BAD_CONFIG", "EXISTS", "TOO_LARGE"};

using Words = std::vector<std::string_view>;
using Wrong = std::optional<std::string>;

int digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

Words words_of(std::string_view line) {
  Words out;
  size_t first = 0;
  for (size_t end; (end = line.find(' ', first)) != std::string_view::npos; first = end + 1) {
    out.push_back(line.substr(first, end - first));
  }
  out.push_back(line.substr(first));
  return out;
}

template <typename List, typename Name>
std::string listed(const List& list, Name name) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + std::string(name(item));
  return out;
}

Wrong decode(std::string_view word, size_t most, std::string* out) {
  out->clear();
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      out->push_back(word[i]);
      continue;
    }
    const int high = i + 2 < word.size() ? digit(word[i + 1]) : -1, low = high >= 0 ? digit(word[i + 2]) : -1;
    if (low < 0) return "no two hexadecimal digits follow a '%', which by itself is written %25";
    out->push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  if (out->size() > most) return absl::StrCat("a word has more than ", most, " bytes");
  return std::nullopt;
}

Wrong read_begin(const Words& words, std::string_view rest, MarkLine* out) {
  out->kind = EventKind::kOpBegin;
  const auto* const found =
      std::ranges::find_if(kKinds, [&](OpKind kind) { return words.size() > 1 && words[1] == name_of(kind); });
  if (found == std::end(kKinds)) {
    return "'begin' is followed by one of " + listed(kKinds, [](OpKind kind) { return name_of(kind); });
  }
  out->code = static_cast<uint8_t>(*found);
  if (*found == OpKind::kMaintain) {
    const size_t command = rest.find(' ');
    return command == std::string_view::npos ? "'begin maintain' is followed by a command"
                                             : decode(rest.substr(command + 1), layout::kMaxText, &out->text);
  }
  if (has_key(*found) && words.size() < 3) return absl::StrCat("'begin ", name_of(*found), "' is followed by a key");
  if (words.size() > 4) return "more words follow than a key and a value; a blank in a word is written %20";
  Wrong wrong;
  if (words.size() > 2) wrong = decode(words[2], layout::kMaxOperationBytes, &out->key);
  if (!wrong && words.size() > 3) wrong = decode(words[3], layout::kMaxOperationBytes, &out->value);
  return wrong;
}

Wrong read_end(const Words& words, MarkLine* out) {
  out->kind = EventKind::kOpEnd;
  const std::string_view status = words.size() > 1 ? words[1] : kStatuses[0];
  const auto* const found = std::ranges::find(kStatuses, status);
  uint32_t number = static_cast<uint32_t>(found - kStatuses);
  if (found == std::end(kStatuses)) {
    const auto read = std::from_chars(status.data(), status.data() + status.size(), number);
    if (read.ec != std::errc() || read.ptr != status.data() + status.size() || number > 255) {
      return "'end' is followed by one of " + listed(kStatuses, [](std::string_view name) { return name; }) +
             ", or by a number up to 255";
    }
  }
  if (words.size() > 3) return "more words follow than a status and a value; a blank in a word is written %20";
  out->code = static_cast<uint8_t>(number);
  return words.size() > 2 ? decode(words[2], layout::kMaxOperationBytes, &out->value) : std::nullopt;
}

}  // namespace

std::optional<std::string> read_mark_line(std::string_view line, MarkLine* out) {
  *out = MarkLine();
  const Words words = words_of(line);
  const std::string_view rest = line.size() > words[0].size() ? line.substr(words[0].size() + 1) : "";
  if (words[0] == "begin") return read_begin(words, rest, out);
  if (words[0] == "end") return read_end(words, out);
  if (words[0] != "point") return "the first word is none of begin, end, point";
  if (rest.empty()) return "'point' is followed by a name";
  return decode(rest, layout::kMaxText, &out->text);
}

}  // namespace powercut
