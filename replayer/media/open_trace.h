// Opens a trace for reading. All readers of events come through here.
#ifndef POWERCUT_REPLAYER_MEDIA_OPEN_TRACE_H_
#define POWERCUT_REPLAYER_MEDIA_OPEN_TRACE_H_

#include <memory>
#include <string>

#include "base/event_stream.h"
#include "base/result.h"
#include "tracer/format/reader.h"
#include "tracer/record/plan.h"

namespace powercut {

// Returns a reader at the first event; each process has its own reader. The reader keeps to the trace's metadata on
// pool, keys and values (tracer/format/trace_rules.h): no event names a byte outside of the pool. The media turn calls
// on files into events. Metadata that contradict themselves are a usage error. Metadata that name no pool leave
// addresses free, and only printing takes such a trace.
Result<std::unique_ptr<TraceReader>> open_trace(const std::string& trace);

// Whether a trace of the plan is a tree of schedules (tracer/FORMAT.md), and not the trace of one schedule.
bool is_tree(const Plan& plan, const Json& metadata);
// Like open_trace(), for readers that follow one run from its beginning to its end: a tree is a usage error.
Result<std::unique_ptr<TraceReader>> open_run(const std::string& trace);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MEDIA_OPEN_TRACE_H_
