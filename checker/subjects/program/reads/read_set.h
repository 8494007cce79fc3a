// Which initial bytes of the pools a traced run depended on: those that it read before it overwrote them.
//
// Of a device these are the words of the sectors that it read, and always the word of the size: where a read ends, and
// whether a page of a mapping is there, depends on it. What a run writes to the size is no answer to what it was.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_READ_SET_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_READ_SET_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/subjects/program/images/trace_pools.h"
#include "replayer/models/line_log.h"
#include "tracer/runtime/reads/read_log.h"

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
  // The same of a command that reports its reads itself (tracer/runtime/reads/read_log.h).
  std::optional<std::string> take(const powercut_read_log& log, const TracePools& pools);
  // What was read, each byte once, in the order in which it was read first: each read was made by what those before it
  // had told.
  const std::vector<WordBytes>& reads() const { return reads_; }

 private:
  enum class Access { kRead, kReadSince, kWrite };  // kReadSince: what was overwritten may be what it read
  // Of bytes of the window's file.
  void mark(const TracePools& pools, size_t window, uint64_t offset, uint64_t size, Access access);
  void mark_line(const TracePools& pools, size_t window, uint64_t line, uint64_t mask, Access access);
  // Bytes of a line of the trace that were read.
  void see(uint64_t line, uint64_t mask);
  void see_word(uint64_t offset);
  void see_sizes(const TracePools& pools);

  std::vector<WordBytes> reads_;
  absl::flat_hash_map<uint64_t, uint64_t> seen_;             // by line of the trace, the bytes in reads_
  std::map<std::pair<size_t, uint64_t>, uint64_t> written_;  // by window and line of its file
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_READ_SET_H_
