// The initial bytes of the pools that a traced run depended on: bytes that the run read before overwriting them.
//
// For a device, the set has the words of the sectors that the run read, and always the word of the size. The size
// decides where a read ends, and whether a page of a mapping is there. A run that writes the size still depends on the
// initial size.
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
  // each window. Returns a reason if the set is not to be trusted: the run made an access that is not recorded.
  std::optional<std::string> follow(const std::string& stream, const TracePools& pools,
                                    const std::vector<std::string>& images);
  // Goes on with a command that reports its reads itself (tracer/runtime/reads/read_log.h). Returns as follow() does.
  std::optional<std::string> take(const powercut_read_log& log, const TracePools& pools);
  // The bytes that were read, each once, in the order of first reads. Each read follows from the values of earlier
  // reads.
  const std::vector<WordBytes>& reads() const { return reads_; }

 private:
  enum class Access { kRead, kReadSince, kWrite };  // kReadSince: overwritten bytes may be the bytes read
  // Notes an access to bytes of the window's file.
  void mark(const TracePools& pools, size_t window, uint64_t offset, uint64_t size, Access access);
  void mark_line(const TracePools& pools, size_t window, uint64_t line, uint64_t mask, Access access);
  // Notes bytes of a line of the trace as read.
  void see(uint64_t line, uint64_t mask);
  void see_word(uint64_t offset);
  void see_sizes(const TracePools& pools);

  std::vector<WordBytes> reads_;
  absl::flat_hash_map<uint64_t, uint64_t> seen_;             // by line of the trace, the bytes in reads_
  std::map<std::pair<size_t, uint64_t>, uint64_t> written_;  // by window and line of its file
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_READS_READ_SET_H_
