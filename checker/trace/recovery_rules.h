// Changes of the code that runs in recovery and queries: rules of an edited trace (../EDITS.md). They stand in the
// trace's metadata, so that every exploration of the trace follows them.
#ifndef POWERCUT_CHECKER_TRACE_RECOVERY_RULES_H_
#define POWERCUT_CHECKER_TRACE_RECOVERY_RULES_H_

#include <vector>

#include "base/json_field.h"
#include "base/result.h"
#include "replayer/executor/executor.h"
#include "replayer/executor/process_modules.h"
#include "tracer/format/trace.h"

namespace powercut {

struct RecoveryRule {
  // At accesses whose call stack begins with these, innermost first: modules and offsets of the trace.
  std::vector<Frame> frames;
  bool drop = false;                  // of a flush or fence: it is left out
  bool flush = false, fence = false;  // else, after a store: its lines are flushed, a fence follows
  bool operator==(const RecoveryRule&) const = default;
};

// Throws Malformed.
RecoveryRule recovery_rule_of(const JsonField& rule);
Json json_of(const RecoveryRule& rule);
// The rules in a trace's metadata; none in most.
Result<std::vector<RecoveryRule>> recovery_rules(const Json& metadata, const std::string& trace);

// The rules for code as it is loaded here. `modules`: the trace's own.
Result<std::vector<CodeEdit>> code_edits(const std::vector<RecoveryRule>& rules,
                                         const std::vector<TraceModule>& modules,
                                         const std::vector<ProcessModule>& loaded, const std::string& trace);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_TRACE_RECOVERY_RULES_H_
