// Packets: how a worker tells its parent what it found, and how a checkpoint keeps it.
//
//   kind SP size SP checksum LF payload      size: decimal, of the payload in bytes; checksum: its XXH3, 16 hex digits
//
// The text line makes a file that `head` can read; the size lets a payload be binary; the checksum tells a packet that
// was written whole from the one that a kill or a full disk cut short.
#ifndef POWERCUT_BASE_PACKET_H_
#define POWERCUT_BASE_PACKET_H_

#include <optional>
#include <string>
#include <string_view>

namespace powercut {

struct Packet {
  std::string kind;
  std::string payload;
};

std::string pack(std::string_view kind, std::string_view payload);

// Puts packets together from pieces of a stream.
class PacketParser {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole packet, if it is there. After damage no more packets come.
  std::optional<Packet> next();
  bool damaged() const { return damaged_; }
  // Bytes of the packets that next() returned.
  uint64_t consumed() const { return consumed_; }

 private:
  std::string buffer_;
  size_t at_ = 0;  // where the next packet begins in buffer_
  uint64_t consumed_ = 0;
  bool damaged_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_BASE_PACKET_H_
