// Packets arrive in pieces, and may end in the middle.
#include "base/packet.h"

#include <gtest/gtest.h>

namespace powercut {
namespace {

TEST(Packet, ComesBackWholeWhateverThePieces) {
  const std::string binary("\0\n\xff x", 5);
  const std::string stream = pack("finding", "{\"a\": 1}") + pack("chunk", binary) + pack("empty", "");
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    PacketParser parser;
    std::vector<std::pair<std::string, std::string>> got;
    for (size_t at = 0; at < stream.size(); at += piece) {
      parser.feed(std::string_view(stream).substr(at, piece));
      while (auto packet = parser.next()) got.emplace_back(packet->kind, packet->payload);
    }
    ASSERT_EQ(got.size(), 3u) << "in pieces of " << piece;
    EXPECT_EQ(got[0].second, "{\"a\": 1}");
    EXPECT_EQ(got[1], (std::pair<std::string, std::string>{"chunk", binary}));
    EXPECT_EQ(got[2].first, "empty");
    EXPECT_EQ(parser.consumed(), stream.size());
    EXPECT_FALSE(parser.damaged());
  }
}

TEST(Packet, ACutShortOneIsNotThere) {
  const std::string first = pack("chunk", "one"), stream = first + pack("chunk", "two");
  for (size_t length = first.size(); length < stream.size(); ++length) {
    PacketParser parser;
    parser.feed(std::string_view(stream).substr(0, length));
    EXPECT_TRUE(parser.next());
    EXPECT_FALSE(parser.next());
    EXPECT_EQ(parser.consumed(), first.size());
  }
}

TEST(Packet, AfterDamageNothingIsBelieved) {
  std::string stream = pack("chunk", "one") + pack("chunk", "two");
  stream[stream.find("one")] = 'O';
  PacketParser parser;
  parser.feed(stream);
  EXPECT_FALSE(parser.next());
  EXPECT_TRUE(parser.damaged());
  EXPECT_EQ(parser.consumed(), 0u);
  PacketParser noise;
  noise.feed(std::string(1000, 'x'));
  EXPECT_FALSE(noise.next());
  EXPECT_TRUE(noise.damaged());
  for (const char* line : {"nospace\n", "one space\n", "no number 0\n", "too 1much 0\n", "\n"}) {
    PacketParser parser_of_line;
    parser_of_line.feed(line);
    EXPECT_FALSE(parser_of_line.next()) << line;
    EXPECT_TRUE(parser_of_line.damaged()) << line;
  }
}

}  // namespace
}  // namespace powercut
