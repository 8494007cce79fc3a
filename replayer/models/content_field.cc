#include "replayer/models/content_field.h"

#include <string>

namespace powercut {

Content content_of(const JsonField& field) {
  const Malformed bad = field.wrong("64 bytes as hex digits");
  const std::string digits = field.text();
  if (digits.size() != 2 * kLineSize) throw bad;
  Content out;
  for (size_t i = 0; i < kLineSize; ++i) {
    const auto value = [&](char digit) -> unsigned {
      if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
      if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
      throw bad;
    };
    out.bytes[i] = static_cast<uint8_t>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
  }
  return out;
}

}  // namespace powercut
