// `powercut-engine convert`: makes a trace of what a binary tracer wrote (tracer/stream/STREAM.md).
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "checker/native/commands.h"
#include "checker/native/event_stream.h"
#include "checker/native/trace_stats.h"
#include "tracer/stream/converter.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

struct ConvertOptions {
  std::string stream, trace, metadata, driver, tracer = "valgrind";
};

Json pools_json(const StreamSurvey& survey) {
  Json pools = Json::array();
  for (const StreamPool& pool : survey.pools) {
    pools.push_back({{"path", pool.path},
                     {"offset", pool.offset},
                     {"size", pool.used ? pool.size : 0},
                     {"address", pool.address},
                     {"mapped", pool.mapped}});
  }
  return pools;
}

Json exit_json(const StreamSurvey& survey) {
  if (!survey.end) return nullptr;
  return {{survey.end->signalled ? "signal" : "status", survey.end->status}};
}

Json notes_json(const StreamSurvey& survey) {
  constexpr const char* kKinds[] = {"other", "fork", "exec", "private-mapping", "other"};
  Json notes = Json::array();
  for (const StreamNote& note : survey.notes) {
    notes.push_back({{"kind", kKinds[note.kind < std::size(kKinds) ? note.kind : 0]}, {"text", note.text}});
  }
  return notes;
}

// What the caller gave, completed by what only the stream knows. A target's metadata has a plan and says all itself.
Result<Json> metadata_of(const ConvertOptions& options, const StreamSurvey& survey) {
  Json metadata = Json::object();
  if (!options.metadata.empty()) {
    std::ifstream file(options.metadata);
    metadata = Json::parse(file, nullptr, false);
    if (!metadata.is_object()) {
      return usage_error("not a readable file with one JSON object", options.metadata,
                         "Give --metadata the file that the recording wrote.");
    }
  }
  if (!metadata.contains("plan")) {
    Json& program = metadata["program"];
    if (!program.is_object()) program = Json::object();
    if (!program.contains("tracer")) program["tracer"] = options.tracer;
    if (!program.contains("exit")) program["exit"] = exit_json(survey);
    program["pools"] = Json::array();
    for (Json& pool : pools_json(survey)) {
      if (pool["size"] != 0) program["pools"].push_back(pool);
    }
  }
  if (!metadata.contains("pool")) {
    uint64_t base = 0;
    for (const StreamPool& pool : survey.pools) {
      if (pool.mapped && base == 0) base = pool.address;
    }
    metadata["pool"] = {{"base", base}, {"size", survey.size}};
  }
  return metadata;
}

Result<Json> convert(const ConvertOptions& options) {
  const Clock::time_point start = Clock::now();
  TraceError error;
  const std::optional<StreamSurvey> survey = survey_stream(options.stream, &error);
  if (!survey) return usage_error(error);
  const Result<Json> metadata = metadata_of(options, *survey);
  if (!metadata) return metadata.error();
  const std::unique_ptr<TraceWriter> writer =
      TraceWriter::create(options.trace, metadata->dump(-1, ' ', false, Json::error_handler_t::replace), &error);
  if (writer == nullptr) return usage_error(error);
  if (const auto wrong = convert_stream(options.stream, *survey, options.driver, *writer)) return usage_error(*wrong);
  if (const auto wrong = writer->finish()) return usage_error(*wrong);

  // Counted from the file: what is reported is what was written.
  const std::unique_ptr<TraceReader> reader = TraceReader::open(options.trace, &error);
  if (reader == nullptr) return harness_error(error.what, error.where, error.next);
  const Result<TraceStats> stats = stats_of(*reader);
  if (!stats) return stats.error();
  return Json{{"event", "converted"},
              {"trace", options.trace},
              {"events", stats->events()},
              {"operations", stats->operations()},
              {"bytes", std::filesystem::file_size(options.trace)},
              {"stores", survey->stores},
              {"pools", pools_json(*survey)},
              {"exit", exit_json(*survey)},
              {"notes", notes_json(*survey)},
              {"counters", TraceStats::json(stats->all())},
              {"counters_explored", TraceStats::json(stats->explored())},
              {"seconds", std::chrono::duration<double>(Clock::now() - start).count()}};
}

int run_convert(const ConvertOptions& options) {
  EventStream events = EventStream::standard_output();
  events.hello("convert");
  const Result<Json> converted = convert(options);
  if (!converted) return events.error(converted.error());
  events.emit(*converted);
  return events.end(kExitOk);
}

}  // namespace

void add_convert_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("convert", "Make a trace of a binary tracer's stream.");
  auto options = std::make_shared<ConvertOptions>();
  command->add_option("--stream", options->stream, "Stream to read (tracer/stream/STREAM.md)")->required();
  command->add_option("--trace", options->trace, "Trace to write")->required();
  command->add_option("--metadata", options->metadata, "File with the JSON object that becomes the trace's metadata");
  command->add_option("--driver", options->driver, "Executable at which call stacks end, as Linux names it");
  command->add_option("--tracer", options->tracer, "Name of the tracer for the metadata")->capture_default_str();
  command->callback([options, &exit_code] { exit_code = run_convert(*options); });
}

}  // namespace powercut
