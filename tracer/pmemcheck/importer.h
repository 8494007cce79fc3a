// Turns a pmemcheck log into a trace. README.md says how each entry is translated and why that is sound.
#ifndef POWERCUT_TRACER_PMEMCHECK_IMPORTER_H_
#define POWERCUT_TRACER_PMEMCHECK_IMPORTER_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tracer/format/trace.h"
#include "tracer/pmemcheck/pools.h"

namespace powercut::pmemcheck {

struct ImportOptions {
  std::string log{}, trace{};
  // A pair: a path as in the log, and a file with its bytes from before the run.
  std::vector<std::pair<std::string, std::string>> snapshots{};
  // Facts that the log does not know, such as the command; joined into "program" of the trace's metadata.
  nlohmann::ordered_json program = nlohmann::ordered_json::object();
};

struct ImportResult {
  std::vector<PoolFile> pools;
  uint64_t events = 0, entries = 0, markers = 0;
  // Entries that touch no registered file, and frames whose text did not fit into the trace.
  uint64_t stores_outside = 0, flushes_outside = 0, unnamed_frames = 0;
};

std::variant<ImportResult, TraceError> import_log(const ImportOptions& asked);

}  // namespace powercut::pmemcheck
#endif  // POWERCUT_TRACER_PMEMCHECK_IMPORTER_H_
