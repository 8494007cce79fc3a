#include "replayer/models/content_field.h"

#include <algorithm>

namespace powercut {

std::string bytes_of(const JsonField& field, const std::string& wanted) {
  const Malformed bad = field.wrong(wanted);
  const std::string digits = field.text();
  if (digits.size() % 2 != 0) throw bad;
  const auto value = [&](char digit) -> unsigned {
    if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
    if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
    throw bad;
  };
  std::string out;
  for (size_t i = 0; i < digits.size(); i += 2) {
    out.push_back(static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1])));
  }
  return out;
}

Content content_of(const JsonField& field) {
  constexpr const char* kWanted = "64 bytes as hex digits";
  const std::string bytes = bytes_of(field, kWanted);
  if (bytes.size() != kLineSize) throw field.wrong(kWanted);
  Content out;
  std::ranges::copy(bytes, out.bytes.begin());
  return out;
}

}  // namespace powercut
