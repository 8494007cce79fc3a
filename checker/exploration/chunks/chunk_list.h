// The list of the chunks of a trace. The walk alone finds them, so that chunks can be shared out before any chunk is
// explored.
#ifndef POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHUNK_LIST_H_
#define POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHUNK_LIST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "checker/exploration/chunks/chunk_result.h"
#include "checker/trace/explore_options.h"
#include "replayer/crash_points/crash_points.h"

namespace powercut {

// Cuts the crash points of a trace, given one after another, into chunks.
class ChunkBorders {
 public:
  explicit ChunkBorders(uint64_t chunk_events) : chunk_events_(chunk_events) {}
  // Returns the chunk that begins with this crash point; nothing if no chunk begins here.
  std::optional<Chunk> begins_at(const CrashPoint& point) {
    if (point.event < next_) return std::nullopt;
    next_ = point.event + chunk_events_;
    return Chunk{chunks_++, point.ordinal, next_};
  }
  // Number of chunks that have begun.
  uint64_t count() const { return chunks_; }

 private:
  const uint64_t chunk_events_;
  uint64_t next_ = 0;  // a crash point at this event or after it begins a chunk
  uint64_t chunks_ = 0;
};

struct ChunkList {
  std::vector<Chunk> chunks;
  uint64_t crash_points = 0;  // of the trace
};

// Walks the trace. Errors: the trace cannot be read.
Result<ChunkList> list_chunks(const LoadedTrace& loaded, const ExploreOptions& options);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_CHUNKS_CHUNK_LIST_H_
