// Which initial bytes of the pools a traced run depended on: those that it read before it overwrote them.
#ifndef POWERCUT_CHECKER_PROGRAM_READ_SET_H_
#define POWERCUT_CHECKER_PROGRAM_READ_SET_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "checker/program/trace_pools.h"

namespace powercut {

class ReadSet {
 public:
  // Goes on with the stream (tracer/stream/STREAM.md) of the next command on the same images. `images`: the file of
  // each window. Returns why the set is not to be trusted, when it is not: the run did something that is not recorded.
  std::optional<std::string> follow(const std::string& stream, const TracePools& pools,
                                    const std::vector<std::string>& images);
  // By line, the bytes.
  const std::map<uint64_t, uint64_t>& lines() const { return read_; }

 private:
  void mark(uint64_t offset, uint64_t size, bool written);

  std::map<uint64_t, uint64_t> read_;
  absl::flat_hash_map<uint64_t, uint64_t> written_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_PROGRAM_READ_SET_H_
