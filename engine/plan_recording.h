// The work of `record`, for `explore --plan` too.
#ifndef POWERCUT_ENGINE_PLAN_RECORDING_H_
#define POWERCUT_ENGINE_PLAN_RECORDING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/event_stream.h"

namespace powercut {

struct RecordOptions {
  std::string plan, trace, loads, media_reads;
  double operation_timeout = 60;
  uint64_t cached_lines = 0;  // of the cache before the medium, for `media_reads`
  bool count_loads = false;
  bool unseen_stores = false;
};

// Runs the plan's workload on its target, in a process of its own, and tells of the trace with a `recorded` event. A
// failure is told instead, and its exit code returned; else nullopt.
std::optional<int> record_plan(const RecordOptions& options, EventStream& events);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_PLAN_RECORDING_H_
