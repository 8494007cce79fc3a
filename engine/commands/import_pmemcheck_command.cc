// `powercut-engine import-pmemcheck`: the store log of pmemcheck becomes a trace.
#include "base/event_stream.h"
#include "base/user_file.h"
#include "engine/commands.h"
#include "tracer/pmemcheck/importer.h"

namespace powercut {

namespace {

struct ImportCommand {
  std::string log, trace, program;
  std::vector<std::string> snapshots;
};

void add_options(CommandLine& command, ImportCommand& asked) {
  command.add_option("--log", asked.log, "Log of 'valgrind --tool=pmemcheck --log-stores=yes'")->required();
  command.add_option("--trace", asked.trace, "Trace to write")->required();
  command.add_option("--pool", asked.snapshots, "FILE=SNAPSHOT: bytes of a pool from before the run; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--program", asked.program, "JSON object for \"program\" of the metadata, such as the command");
}

int run_import(const ImportCommand& asked, EventStream& events) {
  events.hello("import-pmemcheck");
  pmemcheck::ImportOptions options{.log = asked.log, .trace = asked.trace};
  for (const std::string& snapshot : asked.snapshots) {
    const size_t equals = snapshot.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == snapshot.size()) {
      return events.error(
          usage_error("'" + snapshot + "' names no snapshot", "--pool",
                      "Write --pool FILE=SNAPSHOT: the path in the log, and a copy from before the run."));
    }
    options.snapshots.emplace_back(snapshot.substr(0, equals), snapshot.substr(equals + 1));
  }
  if (!asked.program.empty()) {
    options.program = parse_json(asked.program);
    if (!options.program.is_object()) {
      return events.error(usage_error("this is no JSON object", "--program", "Write --program '{\"command\": […]}'."));
    }
  }
  std::variant<pmemcheck::ImportResult, TraceError> done = pmemcheck::import_log(options);
  if (const TraceError* error = std::get_if<TraceError>(&done)) return events.error(usage_error(*error));
  const auto& result = std::get<pmemcheck::ImportResult>(done);
  Json pools = Json::array();
  for (const pmemcheck::PoolFile& pool : result.pools) {
    bool known = false;
    for (const auto& snapshot : options.snapshots) known |= snapshot.first == pool.path;
    pools.push_back({{"path", pool.path}, {"size", pool.size}, {"address", pool.address}, {"content_known", known}});
  }
  events.emit({{"event", "imported"},
               {"trace", asked.trace},
               {"events", result.events},
               {"entries", result.entries},
               {"markers", result.markers},
               {"stores_outside", result.stores_outside},
               {"flushes_outside", result.flushes_outside},
               {"unnamed_frames", result.unnamed_frames},
               {"pools", pools}});
  return events.end(kExitOk);
}

}  // namespace

void add_import_pmemcheck_command(CommandLine& app, int& exit_code) {
  add_command<ImportCommand>(app, exit_code, "import-pmemcheck", "Turn a store log of pmemcheck into a trace.",
                             add_options, run_import);
}

}  // namespace powercut
