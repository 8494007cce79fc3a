// The finished chunks of an exploration on disk, so that a run that was killed goes on where it was.
//
// A checkpoint is a file of packets: first `checkpoint`, whose JSON identifies the run, then one `chunk` for each
// finished chunk, in the order of time. A chunk is on the medium before append() returns; a packet that a kill cut
// short is the file's last, and is dropped when the file is opened again.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHECKPOINT_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHECKPOINT_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "checker/exploration/chunks/chunk_result.h"

namespace powercut {

class Checkpoint {
 public:
  // `identity`: everything that a chunk's result depends on. With `resume` the chunks of an earlier run with the same
  // identity are taken over, and another identity is a usage error; without, the file is begun anew. A file that is
  // no checkpoint is never overwritten.
  static Result<std::unique_ptr<Checkpoint>> open(const std::string& path, const Json& identity, bool resume);
  // Returns a checkpoint without a file, which only holds the chunks that it takes over.
  static std::unique_ptr<Checkpoint> in_memory() { return std::unique_ptr<Checkpoint>(new Checkpoint("", -1)); }
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // The chunks of earlier runs, by number.
  const std::map<uint64_t, ChunkResult>& finished() const { return finished_; }
  // Takes over the chunks of another checkpoint of the same run, whose file stays as it is.
  std::optional<EngineError> take(const std::string& path, const Json& identity);
  // After an error append() writes nothing more: the packets on the medium stay good.
  std::optional<EngineError> append(const ChunkResult& result);

 private:
  Checkpoint(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::optional<EngineError> write_out(const std::string& packet);

  std::string path_;
  int fd_;
  std::map<uint64_t, ChunkResult> finished_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHECKPOINT_H_
