#include "checker/exploration/chunks/chunk_result.h"

#include <cstring>

#include "base/user_file.h"

namespace powercut {

void ChunkCounts::add(const ChunkCounts& other) {
  crash_points += other.crash_points;
  executions += other.executions;
  query_runs += other.query_runs;
  query_answers += other.query_answers;
  loads += other.loads;
  lives += other.lives;
  new_lives += other.new_lives;
  covered += other.covered;
  complete = complete && other.complete;
  for (const auto& [what, spent] : other.seconds) seconds[what] += spent;
}

std::string encode(const ChunkResult& result) {
  const ChunkCounts& counts = result.counts;
  Json maxima = Json::object();
  for (const auto& [name, most] : result.maxima) maxima[name] = {{"value", most.value}, {"where", most.where}};
  const Json head = {{"chunk", result.number},
                     {"crash_points", counts.crash_points},
                     {"executions", counts.executions},
                     {"query_runs", counts.query_runs},
                     {"query_answers", counts.query_answers},
                     {"loads", counts.loads},
                     {"lives", counts.lives},
                     {"new_lives", counts.new_lives},
                     {"covered", counts.covered.str()},
                     {"complete", counts.complete},
                     {"seconds", counts.seconds},
                     {"stopped", result.stopped},
                     {"distrust", result.distrust},
                     {"maxima", maxima},
                     {"recovery_sites", result.recovery_sites},
                     {"findings", result.findings},
                     {"troubles", result.troubles},
                     {"sources", result.sources},
                     {"leaves", result.leaves.size()},
                     {"read_words", result.read_lines.size()},
                     {"reached_words", result.reached.size()}};
  std::string out = head.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (const std::vector<uint64_t>* words : {&result.leaves, &result.read_lines, &result.reached}) {
    out.append(reinterpret_cast<const char*>(words->data()), words->size() * sizeof(uint64_t));
  }
  return out;
}

std::optional<ChunkResult> decode_chunk_result(std::string_view payload) {
  const size_t end = payload.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const Json head = parse_json(payload.substr(0, end));
  std::string_view words = payload.substr(end + 1);
  ChunkResult out;
  try {
    const uint64_t leaves = head.at("leaves"), read_words = head.at("read_words"), reached = head.at("reached_words");
    if (words.size() != (leaves + read_words + reached) * sizeof(uint64_t)) return std::nullopt;
    for (const auto& [list, size] :
         {std::pair(&out.leaves, leaves), std::pair(&out.read_lines, read_words), std::pair(&out.reached, reached)}) {
      list->resize(size);
      std::memcpy(list->data(), words.data(), size * sizeof(uint64_t));
      words.remove_prefix(size * sizeof(uint64_t));
    }
    out.number = head.at("chunk");
    out.counts.crash_points = head.at("crash_points");
    out.counts.executions = head.at("executions");
    out.counts.query_runs = head.at("query_runs");
    out.counts.query_answers = head.at("query_answers");
    out.counts.loads = head.at("loads");
    out.counts.lives = head.at("lives");
    out.counts.new_lives = head.at("new_lives");
    out.counts.covered = BigInt(head.at("covered").get<std::string>());
    out.counts.complete = head.at("complete");
    out.counts.seconds = head.at("seconds").get<std::map<std::string, double>>();
    out.stopped = head.at("stopped");
    out.distrust = head.at("distrust");
    for (const auto& [name, most] : head.at("maxima").items()) {
      out.maxima[name] = {most.at("value").get<uint64_t>(), most.at("where")};
    }
    out.recovery_sites = head.at("recovery_sites").get<RecoverySites>();
    for (const auto& [site, count] : out.recovery_sites) {
      if (!parse_json(site).is_object()) return std::nullopt;
    }
    out.findings = head.at("findings").get<std::vector<Json>>();
    out.troubles = head.at("troubles").get<std::vector<std::string>>();
    out.sources = head.at("sources");
  } catch (const std::exception&) {  // a field is missing or of another type
    return std::nullopt;
  }
  return out;
}

}  // namespace powercut
