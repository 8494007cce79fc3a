#include "base/packet.h"

#include <charconv>
#include <cstdint>
#include <cstdio>

#include "xxhash.h"

namespace powercut {
namespace {

constexpr size_t kLongestLine = 128;

std::string checksum(std::string_view payload) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(payload.data(), payload.size())));
  return text;
}

}  // namespace

std::string pack(std::string_view kind, std::string_view payload) {
  std::string out(kind);
  out += " " + std::to_string(payload.size()) + " " + checksum(payload) + "\n";
  out += payload;
  return out;
}

std::optional<Packet> PacketParser::next() {
  if (damaged_) return std::nullopt;
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  const size_t end = rest.substr(0, kLongestLine).find('\n');
  if (end == std::string_view::npos) {
    damaged_ = rest.size() >= kLongestLine;
    return std::nullopt;
  }
  const std::string_view line = rest.substr(0, end);
  const size_t first = line.find(' '), last = line.rfind(' ');
  uint64_t size = 0;
  bool good = first != last;
  if (good) {
    const char* size_end = line.data() + last;
    good = std::from_chars(line.data() + first + 1, size_end, size).ptr == size_end;
  }
  if (!good) {
    damaged_ = true;
    return std::nullopt;
  }
  if (rest.size() - end - 1 < size) return std::nullopt;
  const std::string_view payload = rest.substr(end + 1, size);
  if (checksum(payload) != line.substr(last + 1)) {
    damaged_ = true;
    return std::nullopt;
  }
  Packet packet{std::string(line.substr(0, first)), std::string(payload)};
  at_ += end + 1 + size;
  consumed_ += end + 1 + size;
  if (at_ == buffer_.size()) {
    buffer_.clear();
    at_ = 0;
  }
  return packet;
}

}  // namespace powercut
