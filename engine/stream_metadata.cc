#include "engine/stream_metadata.h"

#include <iterator>

#include "base/user_file.h"
#include "tracer/stream/stream.h"

namespace powercut {

Json pools_json(const StreamSurvey& survey) {
  Json pools = Json::array();
  for (const StreamPool& pool : survey.pools) {
    Json& entry = pools.emplace_back(Json{{"path", pool.path},
                                          {"offset", pool.offset},
                                          {"size", pool.used ? pool.size : 0},
                                          {"address", pool.address},
                                          {"mapped", pool.mapped}});
    for (const auto& [begin, end] : pool.volatile_parts) entry["volatile"].push_back({begin, end});
    if (pool.device) entry["device"] = {{"sector_size", survey.layout.sector_size}, {"unit", survey.layout.unit}};
  }
  return pools;
}

Json exit_json(const StreamSurvey& survey) {
  if (!survey.end) return nullptr;
  return {{survey.end->signalled ? "signal" : "status", survey.end->status}};
}

Json notes_json(const StreamSurvey& survey) {
  constexpr const char* kKinds[] = {"other", "fork",   "exec",    "private-mapping",
                                    "other", "unseen", "assumed", "refused"};
  Json notes = Json::array();
  for (const StreamNote& note : survey.notes) {
    notes.push_back({{"kind", kKinds[note.kind < std::size(kKinds) ? note.kind : 0]}, {"text", note.text}});
  }
  return notes;
}

Result<Json> metadata_of(const std::string& file, const std::string& tracer, const StreamSurvey& survey) {
  Json metadata = Json::object();
  if (!file.empty()) {
    const Result<std::string> text = read_user_file(file, "Give --metadata the file that the recording wrote.");
    if (!text) return text.error();
    metadata = parse_json(*text);
    if (!metadata.is_object()) {
      return usage_error("not a readable file with one JSON object", file,
                         "Give --metadata the file that the recording wrote.");
    }
  }
  if (!metadata.contains("plan")) {
    Json& program = metadata["program"];
    if (!program.is_object()) program = Json::object();
    if (!program.contains("tracer")) program["tracer"] = tracer;
    if (!program.contains("exit")) program["exit"] = exit_json(survey);
    for (const StreamNote& note : survey.notes) {
      if (note.kind == kPowercutNoteCallbacks) program["assumes"] = note.text;
      if (note.kind == kPowercutNoteRefused) program["refused"].push_back(note.text);
    }
    program["pools"] = Json::array();
    for (Json& pool : pools_json(survey)) {
      if (pool["size"] != 0) program["pools"].push_back(pool);
    }
  }
  if (survey.has_calls) {
    Json& calls = metadata["calls"] = {{"phases", survey.has_phases}, {"pools", Json::array()}};
    for (const StreamPool& pool : survey.pools) {
      if (pool.window == 0) continue;
      Json& file =
          calls["pools"].emplace_back(Json{{"offset", pool.offset}, {"window", pool.window}, {"size", pool.size}});
      if (pool.device) file["device"] = {{"sector_size", survey.layout.sector_size}, {"unit", survey.layout.unit}};
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

}  // namespace powercut
