#include "checker/exploration/chunks/chunk_list.h"

#include <utility>

#include "checker/trace/trace_follower.h"

namespace powercut {

Result<ChunkList> list_chunks(const LoadedTrace& loaded, const ExploreOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  TraceFollower follower(loaded, options.model, options.policy(), std::move(*reader), nullptr);
  ChunkBorders borders(chunk_events(options, loaded.events));
  ChunkList out;
  while (follower.next()) {
    if (const auto chunk = borders.begins_at(follower.instant())) out.chunks.push_back(*chunk);
  }
  if (const auto error = follower.error()) return usage_error(*error);
  out.crash_points = follower.crash_points();
  return out;
}

}  // namespace powercut
