#include "replayer/media/open_trace.h"

#include <algorithm>
#include <optional>

#include "base/json_field.h"
#include "base/user_file.h"
#include "replayer/media/pool_calls.h"

namespace powercut {
namespace {

constexpr const char* kAgain = "Record it again with 'powercut record'.";

uint64_t place(const JsonField& field) {
  const uint64_t out = field.number();
  if (out > TraceRules::kMostSpace / 2) throw field.wrong("a place that a machine of today can map");
  return out;
}

// Whole lines: a store may reach into the last one of a file of any size.
uint64_t lines_up(uint64_t size) { return (size + kLineSize - 1) / kLineSize * kLineSize; }

// The parts that commands take fields of by name, with the types that they take them for granted to have.
void check_shape(const JsonField& metadata) {
  // A field that is there and null is none of these, either.
  const auto there = [](const JsonField& object, const char* name) { return object.json().contains(name); };
  for (const char* part : {"plan", "target", "pool", "program", "edits"}) {
    if (there(metadata, part) && !metadata[part].json().is_object()) throw metadata[part].wrong("an object");
  }
  if (there(metadata, "target") && there(metadata["target"], "build_id")) metadata["target"]["build_id"].text();
  if (there(metadata, "pool") && there(metadata["pool"], "size")) metadata["pool"]["size"].number();
  if (!there(metadata, "edits")) return;
  const JsonField edits = metadata["edits"];
  edits.only({"edits", "dropped", "inserted", "moved", "recovery"});
  for (const char* count : {"edits", "dropped", "inserted", "moved"}) {
    if (there(edits, count)) edits[count].number();
  }
  if (there(edits, "recovery")) edits["recovery"].items();
}

// A plan writes a number where all have one size, or else a pair of the least and the most (tracer/record/plan.cc).
SizeRange sizes_of(const JsonField& sizes) {
  if (!sizes.json().is_array()) return {sizes.number(), sizes.number()};
  const auto pair = sizes.items();
  if (pair.size() != 2) throw sizes.wrong("a size, or a pair of the least size and the most");
  return {pair[0].number(), pair[1].number()};
}

TraceRules rules_of(const JsonField& metadata) {
  check_shape(metadata);
  std::optional<uint64_t> space;
  if (metadata.has("pool") && metadata["pool"].has("size")) space = lines_up(place(metadata["pool"]["size"]));
  if (metadata.has("plan")) {
    const JsonField scenario = metadata["plan"]["scenario"];
    const JsonField size = scenario["pool_size"];
    if (space && *space != lines_up(place(size))) throw size.wrong("the size of 'pool', " + std::to_string(*space));
    return TraceRules(place(size), RecordSizes{sizes_of(scenario["key_size"]), sizes_of(scenario["value_size"])});
  }
  if (metadata.has("program") && metadata["program"].has("pools")) {
    for (const JsonField& pool : metadata["program"]["pools"].items()) {
      space = std::max(space.value_or(0), place(pool["offset"]) + lines_up(place(pool["size"])));
    }
  }
  return TraceRules(space.value_or(TraceRules::kMostSpace));
}

// The media of the files that the trace has calls on; null where it has none.
std::unique_ptr<FileCalls> calls_of(const JsonField& metadata) {
  if (!metadata.has("calls")) return nullptr;
  const JsonField calls = metadata["calls"];
  std::vector<PoolFile> files;
  uint64_t end = 0;
  for (const JsonField& pool : calls["pools"].items()) {
    PoolFile& file = files.emplace_back(PoolFile{place(pool["offset"]), place(pool["window"]), place(pool["size"])});
    if (file.offset < end) throw pool["offset"].wrong("behind the pool before");
    end = file.offset + file.window;
    if (!pool.has("device")) continue;
    const DeviceLayout layout{pool["device"]["sector_size"].number(), pool["device"]["unit"].number()};
    if (!layout.is_one()) throw pool["device"].wrong("a layout of sectors and units");
    file.device = layout;
  }
  return make_file_calls(std::move(files), calls["phases"].flag());
}

}  // namespace

Result<std::unique_ptr<TraceReader>> open_trace(const std::string& trace) {
  TraceError error;
  auto reader = TraceReader::open(trace, &error);
  if (reader == nullptr) return usage_error(error);
  const Json metadata = parse_json(reader->metadata());
  // Metadata of other tools need not be ours to understand.
  if (!metadata.is_object()) {
    reader->hold_to(TraceRules(TraceRules::kMostSpace));
    return reader;
  }
  try {
    const JsonField fields(metadata, "");
    reader->hold_to(rules_of(fields));
    if (auto calls = calls_of(fields)) reader->read_through(std::move(calls));
  } catch (const Malformed& malformed) {
    return usage_error("the trace's metadata: " + malformed.at + ": " + malformed.what, trace, kAgain);
  }
  if (reader->error()) return usage_error(*reader->error());
  return reader;
}

bool is_tree(const Plan& plan, const Json& metadata) {
  return plan.scenario.has_threads() && !metadata.contains("schedule");
}

Result<std::unique_ptr<TraceReader>> open_run(const std::string& trace) {
  auto reader = open_trace(trace);
  if (!reader) return reader;
  const Result<Plan> plan = plan_of_trace((*reader)->metadata(), trace);  // other tools write none
  if (!plan || !is_tree(*plan, parse_json((*reader)->metadata()))) return reader;
  return usage_error("it holds many schedules of threads, and this command follows one run", trace,
                     "Take the trace of a scenario without threads.");
}

}  // namespace powercut
