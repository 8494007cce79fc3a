// `powercut-engine convert`: makes a trace of what a binary tracer wrote (tracer/stream/STREAM.md).
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "base/event_stream.h"
#include "base/user_file.h"
#include "engine/commands.h"
#include "engine/stream_metadata.h"
#include "replayer/media/open_trace.h"
#include "tracer/format/content_name.h"
#include "tracer/stream/converter.h"
#include "tracer/stream/pool_shadow.h"
#include "tracer/stream/stream.h"
#include "tracer/view/trace_stats.h"

namespace powercut {
namespace {

using Clock = std::chrono::steady_clock;

struct ConvertOptions {
  std::string stream, trace, metadata, driver, tracer = "valgrind", acknowledged;
  DeviceLayout layout;
};

void add_options(CommandLine& command, ConvertOptions& options) {
  command.add_option("--stream", options.stream, "Stream to read (tracer/stream/STREAM.md)")->required();
  command.add_option("--trace", options.trace, "Trace to write")->required();
  command.add_option("--metadata", options.metadata, "File with the JSON object that becomes the trace's metadata");
  command.add_option("--driver", options.driver, "Executable at which call stacks end, as Linux names it");
  command.add_option("--tracer", options.tracer, "Name of the tracer for the metadata")->capture_default_str();
  command.add_option("--acknowledged", options.acknowledged,
                     "File with the lines of the program's output that end an operation (tracer/stream/STREAM.md)");
  command.add_option("--sector-size", options.layout.sector_size, "Bytes of a sector of a device")
      ->range(uint64_t{512}, uint64_t{4096});
  command.add_option("--atomic-unit", options.layout.unit, "Sectors of a device that are written as one")
      ->range(uint64_t{1}, uint64_t{8});
}

// Stores that the program makes where it says that there is no persistent memory are its own affair.
void take_as_stored(const StreamPool& pool, uint32_t number, PoolShadow* shadow) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(pool.path, ignored)) return;  // and a pipe would be waited for
  std::ifstream file(pool.path, std::ios::binary);
  std::array<char, PoolShadow::kPage> bytes;
  for (const auto& [begin, end] : pool.disowned) {
    file.clear();
    file.seekg(static_cast<std::streamoff>(begin));
    const uint64_t last = std::min(end, pool.window);
    for (uint64_t at = begin; file && at < last; at += bytes.size()) {
      file.read(bytes.data(), static_cast<std::streamsize>(std::min(bytes.size(), last - at)));
      shadow->store(number, at, {reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<size_t>(file.gcount())});
    }
  }
}

// Sentences about changes of the pools that are not in the trace. The tracer noticed some; the others are in the files
// although no store of the trace put them there. `reader` is at the start of the trace.
std::vector<std::string> unseen_changes(const StreamSurvey& survey, const std::string& stream, TraceReader* reader) {
  std::vector<std::string> out;
  for (const StreamNote& note : survey.notes) {
    if (note.kind == kPowercutNoteUnseen) out.push_back(note.text);
  }
  std::ifstream others(stream + ".unrecorded");
  if (std::string command; std::getline(others, command)) {
    out.push_back("another process used the pool and was not recorded: " + command);
  }
  if (!out.empty()) return out;
  PoolShadow shadow;
  Event event;
  std::map<uint64_t, std::vector<uint8_t>> contents;  // of sectors, by name
  while (reader->next(&event)) {
    if (event.kind == EventKind::kContent) {
      contents.try_emplace(content_name(event.value), event.value.begin(), event.value.end());
    }
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) continue;
    for (uint32_t i = 0; i < survey.pools.size(); ++i) {
      const uint64_t offset = event.addr - survey.pools[i].offset;
      if (offset >= survey.pools[i].window) continue;
      if (!survey.pools[i].device) {
        shadow.store(i, offset, event.value);
      } else if (offset >= kLineSize) {
        survey.layout.each_sector(offset, event.value, [&](uint64_t sector, uint64_t name) {
          std::vector<uint8_t>& content = contents[name];
          content.resize(survey.layout.sector_size);  // zeroes have no name
          shadow.store(i, sector * survey.layout.sector_size, content);
        });
      }
    }
  }
  for (uint32_t i = 0; i < survey.pools.size(); ++i) {
    const StreamPool& pool = survey.pools[i];
    if (pool.path.empty() || !pool.used) continue;
    take_as_stored(pool, i, &shadow);
    PoolDifference difference;
    switch (compare_file(pool.path, i, &shadow, &difference)) {
      case FileComparison::kGone:  // the program has removed it: nothing could differ
        break;
      case FileComparison::kUnreadable:
        out.push_back(pool.path + " cannot be read as a regular file, to be compared with the recorded stores");
        break;
      case FileComparison::kDone:
        if (difference.bytes == 0) break;
        out.push_back(difference.text() + " of " + pool.path + " changed during the run without a recorded store");
    }
  }
  return out;
}

Result<std::vector<Acknowledgement>> read_acknowledged(const ConvertOptions& options, const StreamSurvey& survey) {
  std::vector<Acknowledgement> lines;
  if (options.acknowledged.empty()) return lines;
  const char* const next = "Give --acknowledged the file that the recording wrote.";
  const Result<std::string> text = read_user_file(options.acknowledged, next);
  if (!text) return text.error();
  const Json list = parse_json(*text);
  const auto is_line = [](const Json& line) {
    return line.is_array() && line.size() == 3 && line[0].is_number_unsigned() && line[1].is_number_unsigned() &&
           line[2].is_string();
  };
  if (!list.is_array() || !std::ranges::all_of(list, is_line)) {
    return usage_error("not a list of [output, end, text]", options.acknowledged, next);
  }
  for (const Json& line : list) lines.push_back({line[0].get<uint8_t>(), line[1], line[2]});
  if (survey.has_operations && !lines.empty()) {
    return usage_error("the program marks its operations itself (powercut/mark.h)", "--ack",
                       "Leave --ack out, or the marks: an operation that both end would be two.");
  }
  return lines;
}

// Counts of acknowledgements: those that left together with others, and those behind all that was recorded.
Json acknowledged_json(const std::vector<Acknowledgement>& lines, const StreamSurvey& survey) {
  size_t together = 0, at_end = 0;
  for (const AcknowledgedTogether& group : acknowledged_together(lines, survey.outputs)) {
    if (group.texts.size() > 1) together += group.texts.size();
    if (group.record >= survey.outputs_amid) at_end += group.texts.size();
  }
  return {{"lines", lines.size()}, {"together", together}, {"at_end", at_end}};
}

std::optional<EngineError> write_trace(const ConvertOptions& options, const StreamSurvey& survey, const Json& metadata,
                                       const std::vector<Acknowledgement>& lines) {
  TraceError error;
  const std::unique_ptr<TraceWriter> writer =
      TraceWriter::create(options.trace, metadata.dump(-1, ' ', false, Json::error_handler_t::replace), &error);
  if (writer == nullptr) return usage_error(error);
  if (const auto wrong = convert_stream(options.stream, survey, options.driver, *writer, lines))
    return usage_error(*wrong);
  if (const auto wrong = writer->finish()) return usage_error(*wrong);
  return std::nullopt;
}

Result<Json> convert(const ConvertOptions& options) {
  const Clock::time_point start = Clock::now();
  TraceError error;
  const std::optional<StreamSurvey> survey = survey_stream(options.stream, options.layout, &error);
  if (!survey) return usage_error(error);
  Result<Json> metadata = metadata_of(options.metadata, options.tracer, *survey);
  if (!metadata) return metadata.error();
  const Result<std::vector<Acknowledgement>> lines = read_acknowledged(options, *survey);
  if (!lines) return lines.error();
  if (const auto wrong = write_trace(options, *survey, *metadata, *lines)) return *wrong;
  const auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  const std::vector<std::string> changes = unseen_changes(*survey, options.stream, reader->get());
  Json unseen = metadata->contains("program") ? (*metadata)["program"].value("unseen", Json::array()) : Json::array();
  for (const std::string& change : changes) unseen.push_back(change);
  if (!changes.empty() && metadata->contains("program")) {
    // The metadata stand in front: the trace is written anew.
    (*metadata)["program"]["unseen"] = unseen;
    if (const auto wrong = write_trace(options, *survey, *metadata, *lines)) return *wrong;
  }

  // Counted from the file: the report has the numbers of the written trace.
  const auto written = open_trace(options.trace);
  if (!written) return written.error();
  const Result<TraceStats> stats = stats_of(**written);
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
              {"unseen", unseen},
              {"acknowledged", acknowledged_json(*lines, *survey)},
              {"counters", TraceStats::json(stats->all())},
              {"counters_explored", TraceStats::json(stats->explored())},
              {"seconds", std::chrono::duration<double>(Clock::now() - start).count()}};
}

int run_convert(const ConvertOptions& options, EventStream& events) {
  events.hello("convert");
  return events.answer(convert(options));
}

}  // namespace

void add_convert_command(CommandLine& app, int& exit_code) {
  add_command<ConvertOptions>(app, exit_code, "convert", "Make a trace of a binary tracer's stream.", add_options,
                              run_convert);
}

}  // namespace powercut
