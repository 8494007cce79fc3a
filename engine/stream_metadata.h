// Facts of a stream (tracer/stream/STREAM.md) about itself, for events and for the metadata of the trace made of it.
#ifndef POWERCUT_ENGINE_STREAM_METADATA_H_
#define POWERCUT_ENGINE_STREAM_METADATA_H_

#include <string>

#include "base/event_stream.h"
#include "base/result.h"
#include "tracer/stream/converter.h"

namespace powercut {

Json pools_json(const StreamSurvey& survey);
Json exit_json(const StreamSurvey& survey);
Json notes_json(const StreamSurvey& survey);
// Returns the caller's metadata in `file`, completed by facts that only the stream knows. A target's metadata has a
// plan and says everything itself.
Result<Json> metadata_of(const std::string& file, const std::string& tracer, const StreamSurvey& survey);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_STREAM_METADATA_H_
