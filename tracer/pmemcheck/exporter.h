// Turns a trace into a log that pmreorder replays. README.md says how each event is written.
#ifndef POWERCUT_TRACER_PMEMCHECK_EXPORTER_H_
#define POWERCUT_TRACER_PMEMCHECK_EXPORTER_H_

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tracer/format/reader.h"
#include "tracer/format/trace.h"
#include "tracer/pmemcheck/pools.h"

namespace powercut::pmemcheck {

// Frames (module, offset) as texts for people; several texts where functions were inlined, innermost first.
using FrameTexts = std::map<std::pair<uint32_t, uint64_t>, std::vector<std::string>>;

struct ExportOptions {
  std::string trace{}, log{};
  bool stacks = true;
  FrameTexts texts{};         // frames without an entry are written as module and offset
  std::string pool_folder{};  // if set: the folder for the pools as they were before the run; the log names these files
};

struct ExportResult {
  std::vector<PoolFile> pools;  // as the log registers them
  uint64_t entries = 0, threads = 0;
  // The size of the contents from before the run, which no log can hold: pmreorder needs them in the registered files.
  uint64_t content_bytes = 0;
};

// `reader`: of the trace, at its first event.
std::variant<ExportResult, TraceError> export_log(const ExportOptions& asked, TraceReader* reader);

// The distinct frames of the stores' stacks, for a caller that can symbolise them.
struct StoreFrames {
  std::vector<TraceModule> modules;
  std::vector<Frame> frames;
};
std::variant<StoreFrames, TraceError> store_frames(TraceReader* reader);

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_EXPORTER_H_
