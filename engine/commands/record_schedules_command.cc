// `powercut-engine record-schedules`: runs a threaded program by many schedules, and makes one trace of them.
#include <signal.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/event_stream.h"
#include "base/user_file.h"
#include "checker/subjects/program/schedules/search.h"
#include "checker/trace/explore_options.h"
#include "engine/commands.h"
#include "engine/stream_metadata.h"
#include "replayer/media/medium.h"
#include "replayer/media/open_trace.h"
#include "tracer/other_files/changed_files.h"
#include "tracer/view/trace_stats.h"

namespace powercut {
namespace {

std::atomic<bool> ended = false;

struct RecordSchedulesOptions {
  ProgramToSchedule program;
  ProgramSearchOptions search;
  std::string command, trace, metadata, other_files, work = "/dev/shm";
  uint32_t preemptions = 2;
  std::vector<std::string> allowed;
};

void add_options(CommandLine& command, RecordSchedulesOptions& options) {
  command.add_option("--command", options.command, "The program and its arguments, a JSON list of words")->required();
  command.add_option("--cwd", options.program.cwd, "Folder in which it runs")->required();
  command.add_option("--input", options.program.input, "File that it reads as its standard input");
  command.add_option("--pool", options.program.pools, "Pool file, absolute; once for each")
      ->required()
      ->allow_extra_args(false);
  command.add_option("--trace", options.trace, "Trace to write")->required();
  command.add_option("--metadata", options.metadata, "File with the JSON object that becomes the trace's metadata");
  command.add_option("--search", options.search.kind, "Which schedules are run")->one_of({"bounded", "random", "pct"});
  command.add_option("--preemptions", options.preemptions, "bounded: the most of them in a schedule");
  command.add_option("--schedules", options.search.limits.schedules, "How many are run; of bounded, at most (0: all)");
  command.add_option("--seed", options.search.limits.seed, "Seed of what is drawn");
  command.add_option("--model", options.search.model, "Persistency model that the trace will be explored with");
  command.add_option("--seconds", options.search.most_seconds, "Time for all schedules");
  command.add_option("--allow-exit", options.allowed, "Exit status that is no failure, besides 0")
      ->allow_extra_args(false);
  command.add_option("--other-files", options.other_files,
                     "File in which 'watch', which runs this, tells what was changed beside the pools");
  command.add_option("--work", options.work, "Folder for files of its own");
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(1 << 16, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

// Files that the program has changed beside its pools until now, by the word of `powercut-engine watch`; without the
// folder of this process, in which it works.
Result<Json> other_files(const std::string& report, const std::string& work) {
  mkdir((report + ".wanted").c_str(), 0700);
  const Result<std::string> text = read_user_file(report, "Run it again.");
  if (!text) return text.error();
  Json told = parse_json(*text);
  if (!told.is_object() || !told.contains("changed")) return harness_error("no report", report, "Run it again.");
  Json kept = Json::array();
  for (const Json& file : told["changed"]) {
    if (!is_below(file["path"].get<std::string>(), {work})) kept.push_back(file);
  }
  told["changed"] = std::move(kept);
  return told;
}

Result<Json> record(RecordSchedulesOptions& options, const EventStream& events) {
  const auto start = std::chrono::steady_clock::now();
  const Json words = parse_json(options.command);
  if (!words.is_array() || words.empty()) {
    return usage_error("not a JSON list of words", "--command", "Write [\"prog\", \"argument\"].");
  }
  for (const Json& word : words) options.program.words.push_back(word.get<std::string>());
  for (const std::string& status : options.allowed) options.search.allowed.insert(std::stoi(status));
  options.search.limits.preemptions = options.preemptions;
  options.program.most_seconds = options.search.most_seconds;
  options.program.every_store = persistency_of(options.search.model)->stores_at_once();
  auto guardian = Guardian::start(options.work);
  if (!guardian) return guardian.error();
  events.end_when_unheard();  // nobody wants more schedules, and the pools are the user's again
  auto runs = ScheduledRuns::create(options.program, guardian->get(), &ended);
  if (!runs) return runs.error();
  Json output;
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Json changed = Json::array();
  const auto metadata = [&](const StreamSurvey& survey) -> Result<std::string> {
    auto made = metadata_of(options.metadata, "llvm", survey);
    if (!made) return made.error();
    if (!options.other_files.empty()) {
      auto told = other_files(options.other_files, guardian->get()->folder());
      if (!told) return told.error();
      Json& program = (*made)["program"];
      for (Json& file : (*told)["changed"]) changed.push_back(file["path"]);
      program["other_files"] = std::move((*told)["changed"]);
      for (const Json& what : (*told)["unseen"]) {
        program["refused"].push_back("the program may have changed files beside its pools by " +
                                     what.get<std::string>() + ", which was not seen");
      }
    }
    return made->dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  ProgramSearch search(options.search, runs->get(), guardian->get()->folder() + "/run.pct", options.trace, metadata);
  if (auto wrong = search.run()) return *wrong;
  Json out = {{"event", "scheduled"},
              {"trace", options.trace},
              {"status", search.status()},
              {"stalled", search.stalled()},
              {"stdout", text_of((*runs)->output())},
              {"stderr", text_of((*runs)->errors())},
              {"schedules", search.summary()},
              {"seconds", seconds()},
              {"other_files", changed},
              {"folder", guardian->get()->folder()},
              {"events", 0},
              {"pools", Json::array()},
              {"notes", Json::array()}};
  if (!search.survey()) return out;
  out["pools"] = pools_json(*search.survey());
  out["notes"] = notes_json(*search.survey());
  if (std::filesystem::exists(options.trace)) {
    const auto written = open_trace(options.trace);
    if (!written) return written.error();
    out["events"] = (*written)->total_events();
  }
  return out;
}

int run(const RecordSchedulesOptions& asked, EventStream& events) {
  RecordSchedulesOptions options = asked;
  struct sigaction stop{};
  stop.sa_handler = [](int) { ended = true; };
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  sigaction(SIGHUP, &stop, nullptr);
  events.hello("record-schedules");
  if (auto wrong = check_model(options.search.model, "any", "record-schedules")) return events.error(*wrong);
  const Result<Json> recorded = record(options, events);
  if (!recorded && ended) return events.end(kExitUnknown);
  return events.answer(recorded);
}

}  // namespace

void add_record_schedules_command(CommandLine& app, int& exit_code) {
  add_command<RecordSchedulesOptions>(app, exit_code, "record-schedules", "Record a threaded program in many schedules",
                                      add_options, run, Addresses::kFixed);
}

}  // namespace powercut
