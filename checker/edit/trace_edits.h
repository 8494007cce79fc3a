// Edits of a trace: the file of ../EDITS.md, read and checked as far as it says something by itself.
#ifndef POWERCUT_CHECKER_EDIT_TRACE_EDITS_H_
#define POWERCUT_CHECKER_EDIT_TRACE_EDITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/event_stream.h"
#include "base/result.h"
#include "checker/trace/recovery_rules.h"
#include "tracer/format/trace.h"

namespace powercut {

// Advice about edits that make no sense.
inline constexpr const char* kEditsNext =
    "checker/EDITS.md says what an edit may be; event indexes are those of the trace before it.";

struct TraceEdits {
  struct Range {
    uint64_t offset = 0, size = 0;
    FlushKind kind = FlushKind::kClwb;
  };
  struct Insert {
    uint64_t after = 0, stack_of = 0;  // indexes of events
    std::optional<Range> flush;
    std::optional<FenceKind> fence;
  };
  struct Move {
    std::vector<uint64_t> events;  // ascending
    uint64_t after = 0;
  };

  std::string path;
  std::vector<uint64_t> drop;
  std::vector<Insert> insert;
  std::vector<Move> move;
  std::vector<RecoveryRule> recovery;
};

Result<TraceEdits> read_edits(const std::string& path);
Result<TraceEdits> parse_edits(const std::string& text, const std::string& path);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EDIT_TRACE_EDITS_H_
