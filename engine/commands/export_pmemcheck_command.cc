// `powercut-engine export-pmemcheck`: a trace becomes a store log that pmreorder replays.
#include <limits>

#include "base/event_stream.h"
#include "base/json_field.h"
#include "base/user_file.h"
#include "checker/findings/finding.h"
#include "engine/commands.h"
#include "replayer/media/open_trace.h"
#include "tracer/pmemcheck/exporter.h"
#include "tracer/pmemcheck/mapped_file.h"

namespace powercut {

namespace {

struct ExportCommand {
  std::string trace, log, pools, symbols;
  bool no_stacks = false, frames = false;
};

void add_options(CommandLine& command, ExportCommand& asked) {
  command.add_option("--trace", asked.trace, "Trace to read")->required();
  command.add_option("--log", asked.log, "Log to write");
  command.add_option("--pools", asked.pools, "Folder for the pools as they were before the run; the log names these");
  command.add_option("--symbols", asked.symbols, "JSON file of [module, offset, [text, …]]: what stacks say");
  command.add_flag("--no-stacks", asked.no_stacks, "Leave the stacks of stores out");
  command.add_flag("--frames", asked.frames, "Only list the frames of the stores' stacks");
}

// [[module, offset, ["main (a.c:9)", …]], …]
std::optional<EngineError> read_symbols(const std::string& path, pmemcheck::FrameTexts* texts) {
  TraceError error;
  const auto file = pmemcheck::MappedFile::open(path, &error);
  if (file == nullptr) return usage_error(error);
  const Json symbols = parse_json(file->bytes());
  try {
    for (const JsonField& symbol : JsonField(symbols, "").items()) {
      const std::vector<JsonField> parts = symbol.items();
      if (parts.size() != 3 || parts[0].number() > std::numeric_limits<uint32_t>::max()) {
        throw symbol.wrong("[module, offset, [text, …]]");
      }
      std::vector<std::string>& texts_here = (*texts)[{static_cast<uint32_t>(parts[0].number()), parts[1].number()}];
      texts_here.clear();
      for (const JsonField& text : parts[2].items()) texts_here.push_back(text.text());
    }
  } catch (const Malformed& malformed) {
    return usage_error("no list of symbols: " + malformed.at + ": " + malformed.what, path, "Leave --symbols out.");
  }
  return std::nullopt;
}

int print_frames(TraceReader* reader, EventStream& events) {
  std::variant<pmemcheck::StoreFrames, TraceError> found = pmemcheck::store_frames(reader);
  if (const TraceError* error = std::get_if<TraceError>(&found)) return events.error(usage_error(*error));
  const auto& frames = std::get<pmemcheck::StoreFrames>(found);
  Json list = Json::array();
  for (const Frame& frame : frames.frames) list.push_back({frame.module, frame.offset});
  Json event = modules_event(frames.modules);
  event["event"] = "store_frames";
  event["frames"] = list;
  events.emit(event);
  return events.end(kExitOk);
}

int run_export(const ExportCommand& asked, EventStream& events) {
  events.hello("export-pmemcheck");
  const auto run = open_run(asked.trace);
  if (!run) return events.error(run.error());
  if (asked.frames) return print_frames(run->get(), events);
  if (asked.log.empty()) {
    return events.error(usage_error("no log to write", "--log", "Name a file for the log, or ask for --frames."));
  }
  pmemcheck::ExportOptions options{
      .trace = asked.trace, .log = asked.log, .stacks = !asked.no_stacks, .pool_folder = asked.pools};
  if (!asked.symbols.empty()) {
    if (std::optional<EngineError> error = read_symbols(asked.symbols, &options.texts)) return events.error(*error);
  }
  std::variant<pmemcheck::ExportResult, TraceError> done = pmemcheck::export_log(options, run->get());
  if (const TraceError* error = std::get_if<TraceError>(&done)) return events.error(usage_error(*error));
  const auto& result = std::get<pmemcheck::ExportResult>(done);
  Json pools = Json::array();
  for (const pmemcheck::PoolFile& pool : result.pools) {
    pools.push_back({{"path", pool.path}, {"size", pool.size}, {"address", pool.address}});
  }
  events.emit({{"event", "exported"},
               {"log", asked.log},
               {"entries", result.entries},
               {"threads", result.threads},
               {"content_bytes", result.content_bytes},
               {"pools", pools}});
  return events.end(kExitOk);
}

}  // namespace

void add_export_pmemcheck_command(CommandLine& app, int& exit_code) {
  add_command<ExportCommand>(app, exit_code, "export-pmemcheck", "Write a trace as a store log of pmemcheck.",
                             add_options, run_export);
}

}  // namespace powercut
