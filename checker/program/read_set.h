// Which initial bytes of the pools a traced run depended on: those that it read before it overwrote them.
#ifndef POWERCUT_CHECKER_PROGRAM_READ_SET_H_
#define POWERCUT_CHECKER_PROGRAM_READ_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/program/trace_pools.h"
#include "replayer/models/line_log.h"

namespace powercut {

constexpr uint64_t kWordSize = 8, kWords = kLineSize / kWordSize;

// Bytes of an aligned word of eight.
struct WordBytes {
  uint64_t word = 0;  // its offset / 8
  uint8_t mask = 0;   // bit i: the byte at offset word * 8 + i
  bool operator==(const WordBytes&) const = default;
};

class ReadSet {
 public:
  // Goes on with the stream (tracer/stream/STREAM.md) of the next command on the same images. `images`: the file of
  // each window. Returns why the set is not to be trusted, when it is not: the run did something that is not recorded.
  std::optional<std::string> follow(const std::string& stream, const TracePools& pools,
                                    const std::vector<std::string>& images);
  // What was read, each byte once, in the order in which it was read first.
  const std::vector<WordBytes>& reads() const { return reads_; }

 private:
  void mark(uint64_t offset, uint64_t size, bool written);

  std::vector<WordBytes> reads_;
  absl::flat_hash_map<uint64_t, uint64_t> seen_;  // by line, the bytes that were read or overwritten
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_PROGRAM_READ_SET_H_
