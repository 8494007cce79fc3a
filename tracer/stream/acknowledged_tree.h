// A trace of calls on a tree, with the operations that lines of the program's output acknowledge (acknowledgements.h).
#ifndef POWERCUT_TRACER_STREAM_ACKNOWLEDGED_TREE_H_
#define POWERCUT_TRACER_STREAM_ACKNOWLEDGED_TREE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracer/format/trace.h"
#include "tracer/stream/acknowledgements.h"

namespace powercut {

// An output has grown to a size before the event with this number.
struct TreeOutput {
  uint64_t events = 0;
  StreamOutput output;
};

// Writes `trace` to `out` with the operations. A change of the tree begins the next operation; a sync begins none. The
// metadata's `files` keep the expression as `ack`. `events` is the number of those in `out`.
std::optional<TraceError> acknowledge_tree(const std::string& trace, const std::string& out, const std::string& ack,
                                           const std::vector<TreeOutput>& outputs,
                                           const std::vector<AcknowledgedTogether>& groups, uint64_t* events);

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_ACKNOWLEDGED_TREE_H_
