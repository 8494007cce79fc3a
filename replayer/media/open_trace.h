// The one way from a file to the events of a trace.
#ifndef POWERCUT_REPLAYER_MEDIA_OPEN_TRACE_H_
#define POWERCUT_REPLAYER_MEDIA_OPEN_TRACE_H_

#include <memory>
#include <string>

#include "base/event_stream.h"
#include "base/result.h"
#include "tracer/format/reader.h"
#include "tracer/record/plan.h"

namespace powercut {

// A reader at the first event; each process has its own. It is held to what its metadata say of pool, keys and values
// (tracer/format/trace_rules.h): no event that it yields names a byte outside of the pool. Calls on files are the
// events that their media say. Metadata that contradict themselves are a usage error; those that name no pool leave
// addresses free, and only printing takes such a trace.
Result<std::unique_ptr<TraceReader>> open_trace(const std::string& trace);

// Whether a trace of the plan is a tree of schedules (tracer/FORMAT.md): its threads were run in many, and it is not
// the trace of one alone.
bool is_tree(const Plan& plan, const Json& metadata);
// As open_trace(), for readers that follow one run from its beginning to its end: a tree is a usage error.
Result<std::unique_ptr<TraceReader>> open_run(const std::string& trace);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_OPEN_TRACE_H_
