// `powercut-engine program-image`: one image of a recorded program's pools, and what its recovery makes of it. The
// image is that of a finding, or the one that the program left behind at its end.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "checker/exploration/walks/other_files.h"
#include "checker/findings/finding_record.h"
#include "checker/subjects/program/loaded_program.h"
#include "checker/subjects/program/outputs/finding.h"
#include "checker/subjects/program/outputs/judge.h"
#include "engine/commands.h"
#include "engine/image_runs.h"
#include "powercut/contents.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

struct ImageOptions {
  ProgramOptions program;
  std::string finding, out;
  int runs = 1;
};

void add_options(CommandLine& command, ImageOptions& options) {
  add_recovery_options(&command, &options.program);
  command.add_option("--finding", options.finding, "Finding whose image it is (default: the last one of the trace)");
  command.add_option("--runs", options.runs, "Times that the commands are run, each on the same image")->range(1, 100);
  command.add_option("--out", options.out, "File to which the image is copied");
}

using Lines = std::map<uint64_t, Content>;

// The image of a finding and what the program had done until then, or of a schedule that went wrong by itself: what
// went wrong there.
struct FoundImage {
  Lines lines;
  Operations operations;
  std::string trouble;
};

// The contents that the program could read at the end of the trace; in a tree, at the end of its first schedule.
Result<Lines> last_image(TraceReader* reader, uint64_t space) {
  Lines lines;
  Event event;
  while (reader->next(&event) && event.kind != EventKind::kBack) {
    if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) continue;
    for (size_t i = 0; i < event.value.size() && event.addr + i < space;) {
      const uint64_t at = event.addr + i;
      const size_t size = std::min<size_t>(kLineSize - at % kLineSize, event.value.size() - i);
      std::memcpy(lines[at / kLineSize].bytes.data() + at % kLineSize, event.value.data() + i, size);
      i += size;
    }
  }
  if (reader->error()) return usage_error(*reader->error());
  return lines;
}

// Calls `saw(line)` for each line that a store reaches.
template <typename Saw>
void lines_of(const Event& event, uint64_t space, const Saw& saw) {
  if (event.kind != EventKind::kStore && event.kind != EventKind::kNtStore) return;
  const uint64_t end = std::min(event.addr + event.value.size(), space);
  for (uint64_t line = event.addr / kLineSize; line * kLineSize < end; ++line) saw(line);
}

// The image of a finding: the definite contents at its crash point. Each pending line has the content that the finding
// names, which must be a content that the line may have there.
Result<FoundImage> image_of(const FindingRecord& record, const std::string& trace, const LoadedProgram& loaded) {
  const auto elsewhere = [&](const std::string& what) {
    return usage_error(what, trace,
                       "Name the trace that the finding was made on; 'powercut run' tells whether it is still there.");
  };
  const std::optional<AtomPolicy> policy = atom_policy(record.atoms);
  if (!policy || persistency_of(record.model) == nullptr) return elsewhere("the finding names an unknown model");
  auto walk = loaded.follower(record.model, *policy, nullptr);
  if (!walk) return walk.error();
  TraceFollower& follower = **walk;
  Lines lines;
  const uint64_t space = loaded.pools().space;
  Operations operations;
  const auto saw = [&](const Event& event) {
    operations.apply(event);
    lines_of(event, space, [&](uint64_t line) { lines[line]; });
  };
  bool there = false;
  while (!there && follower.next(saw)) there = follower.instant().ordinal == record.crash_point;
  if (const auto error = follower.error()) return usage_error(*error);
  if (!there || follower.instant().event != record.event || follower.instant().when != record.when) {
    return elsewhere("the trace has no crash point " + std::to_string(record.crash_point) + " '" + record.when +
                     "' at event " + std::to_string(record.event));
  }
  if (follower.trouble()) return FoundImage{{}, {}, follower.trouble()->text};
  for (auto& [line, content] : lines) content = follower.model().floor(line);
  for (const FindingRecord::Line& listed : record.image) {
    const std::vector<Content> legal = follower.model().candidates(listed.line).contents;
    if (std::ranges::find(legal, listed.content) == legal.end()) {
      return elsewhere("the line at offset " + std::to_string(listed.line * kLineSize) +
                       " cannot hold what the finding says");
    }
    lines[listed.line] = listed.content;
  }
  // Stores of recovery before its own cut. No run of this recovery is known here, so they are not checked against one.
  for (const FindingRecord::Nested& nested : record.nested) {
    for (const FindingRecord::Line& line : nested.lines) lines[line.line] = line.content;
    for (const std::string& content : nested.contents)
      powercut_content_name(content.data(), content.size(), nullptr, 0);
  }
  return FoundImage{std::move(lines), std::move(operations), ""};
}

// The fault of a finding's image, or null.
Result<Json> violation_json(const LoadedProgram& loaded, const Operations& operations, const ProgramOutcome& outcome) {
  ExpectedOutputs expected;
  if (!outcome.printed.empty()) {
    uint64_t executions = 0;
    auto taken = loaded.expected(nullptr, &executions);
    if (!taken) return taken.error();
    expected = std::move(*taken);
  }
  const auto wrong = judge(outcome, expected.legal(operations), expected, operations, loaded.commands());
  if (!wrong) return Json(nullptr);
  return Json{{"invariant", wrong->invariant},
              {"query", query_text(wrong->step, loaded.commands())},
              {"message", wrong->message}};
}

// Copies the images out: to `out` itself, or to out.0, out.1, … where there are several pools.
std::optional<EngineError> copy_out(const std::vector<std::string>& images, const std::string& out, Json* files) {
  for (size_t i = 0; i < images.size(); ++i) {
    const std::string to = images.size() == 1 ? out : out + "." + std::to_string(i);
    std::error_code wrong;
    std::filesystem::copy_file(images[i], to, std::filesystem::copy_options::overwrite_existing, wrong);
    if (wrong) return usage_error("cannot be written (" + wrong.message() + ")", to, "Name another file.");
    files->push_back(to);
  }
  return std::nullopt;
}

Result<Json> run_image(const ImageOptions& options, const EventStream& events) {
  auto opened = LoadedProgram::open(options.program);
  if (!opened) return opened.error();
  const LoadedProgram& loaded = **opened;
  Result<Lines> lines = Lines{};
  Operations operations;
  if (options.finding.empty()) {
    auto reader = open_trace(options.program.trace);
    if (!reader) return reader.error();
    lines = last_image(reader->get(), loaded.pools().space);
  } else {
    auto record = read_finding(options.finding);
    if (!record) return record.error();
    auto found = image_of(*record, options.program.trace, loaded);
    if (!found) return found.error();
    if (!found->trouble.empty()) {
      return Json{{"event", "imaged"}, {"runs", Json::array()},   {"files", Json::array()},
                  {"same", true},      {"unseen", Json::array()}, {"trouble", found->trouble}};
    }
    lines = std::move(found->lines);
    operations = std::move(found->operations);
  }
  if (!lines) return lines.error();

  events.end_when_unheard();
  auto worker = loaded.worker("image", nullptr);
  if (!worker) return worker.error();
  for (const auto& [line, content] : *lines) (*worker)->files().put(line, content);
  Json event = {{"event", "imaged"}, {"runs", Json::array()}, {"files", Json::array()}};
  if (!options.out.empty()) {
    if (auto wrong = copy_out((*worker)->files().paths(), options.out, &event["files"])) return *wrong;
  }
  std::vector<ProgramOutcome> outcomes;
  for (int i = 0; i < options.runs; ++i) {
    // A clock that is printed in seconds is another one then.
    if (i > 0 && (*worker)->clock() == ImageWorker::Clock::kAsked) (*worker)->shift_clock(i);
    auto outcome = (*worker)->run();
    if (!outcome) return outcome.error();
    outcomes.push_back(std::move(*outcome));
  }
  if (!options.finding.empty()) {
    auto violation = violation_json(loaded, operations, outcomes.front());
    if (!violation) return violation.error();
    event["violation"] = std::move(*violation);
  }
  event.update(runs_json(std::move(outcomes), options.program.ordered));
  event["unseen"] = loaded.pools().unseen;
  for (const std::string& sentence : loaded.pools().refused) event["unseen"].push_back(sentence);
  if (const auto met = other_files_met(loaded.files().met()); !met.empty()) event["unseen"].push_back(met);
  for (const std::string& sentence : loaded.files().troubles()) event["unseen"].push_back(sentence);
  return event;
}

int image(const ImageOptions& options, EventStream& events) {
  events.hello("program-image");
  return events.answer(run_image(options, events));
}

}  // namespace

void add_program_image_command(CommandLine& app, int& exit_code) {
  add_command<ImageOptions>(app, exit_code, "program-image", "Run a program's recovery on one image of its pools",
                            add_options, image, Addresses::kFixed);
}

}  // namespace powercut
