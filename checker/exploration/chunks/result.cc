#include "checker/exploration/chunks/result.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "checker/exploration/reached_stores.h"
#include "replayer/media/medium.h"
#include "tracer/world/virtual_world.h"

namespace powercut {
namespace {

// Written, and never looked at: nothing is said about what a power cut does to these lines.
uint64_t lines_never_read(const Explored& explored) {
  const auto was_read = [&](uint64_t line) {
    return line / 64 < explored.read_lines.size() && (explored.read_lines[line / 64] >> (line % 64) & 1) != 0;
  };
  const std::vector<uint64_t>& written = explored.survey.written_lines;
  return static_cast<uint64_t>(std::count_if(written.begin(), written.end(), std::not_fn(was_read)));
}

std::vector<std::string> uninstrumented_calls() {
  const char* names[256];
  const uint32_t count = powercut_externals(names, 256);
  return {names, names + std::min(count, 256u)};
}

}  // namespace

ExplorationResult result_of(const LoadedTrace& loaded, const ExploreOptions& options, const Explored& explored,
                            double seconds) {
  const Survey& survey = explored.survey;
  Json schedules = survey.searched.empty() ? Json(nullptr) : Json::parse(survey.searched);
  const bool searched = schedules.is_null() || schedules["complete"].get<bool>();
  std::vector<std::string> troubles = explored.troubles;
  if (!schedules.is_null() && schedules.contains("not_run")) {
    troubles.push_back(schedules["not_run"].get<std::string>());
    schedules.erase("not_run");
  }
  if (!schedules.is_null()) schedules["judged"] = explored.sum.crash_points;
  const bool judged_all = explored.sum.complete && explored.sum.crash_points == survey.crash_points;
  const bool complete = judged_all && searched;
  std::vector<std::string> notes = troubles;
  notes.insert(notes.end(), explored.notes.begin(), explored.notes.end());
  notes.push_back("a nested crash is cut at recovery's own crash points; deeper cuts than " +
                  std::to_string(options.nested) + " are not tried");
  const bool samples = make_strategy(options.strategy, {})->samples();
  const char* verdict = !explored.findings.empty() ? "inconsistent" : !troubles.empty() ? "unknown" : "consistent";
  Json maxima = Json::object();
  for (const auto& [name, most] : explored.maxima) {
    maxima[name] = {{"value", most.value}};
    maxima[name].update(most.where);
  }
  const auto exploring = explored.sum.seconds.find("exploring");
  std::vector<std::string> assumed = assumptions(
      options.model, options.atoms, "the instrumented build is judged: its stores are those of the shipped build",
      !schedules.is_null() && schedules.value("visibility", "sc") == "tso", options.budget_seconds);
  if (explored.sources != 0) {
    assumed.push_back("what recovery does with " + names_of_sources(explored.sources) +
                      " changes nothing: it did the same with every value that was tried");
  }
  ExplorationResult out = {.verdict = verdict,
                           .functional = explored.functional,
                           .events = loaded.events,
                           .crash_points = survey.crash_points,
                           .crash_states = survey.crash_states.str(),
                           .executions = explored.sum.executions,
                           .queries = explored.sum.query_answers,
                           .query_runs = explored.sum.query_runs,
                           .loads = explored.sum.loads,
                           .leaves = explored.leaves,
                           .seconds = seconds,
                           .assumptions = std::move(assumed),
                           .lines_never_read = lines_never_read(explored),
                           .stores_never_reached = stores_never_reached(explored.reached),
                           .uninstrumented_calls = uninstrumented_calls(),
                           .atoms = persistency_of(options.model)->own_policy() ? "" : options.atoms,
                           .notes = std::move(notes)};
  out.counts["maxima"] = std::move(maxima);
  out.times["exploring_seconds"] = exploring == explored.sum.seconds.end() ? 0.0 : exploring->second;
  out.times["stats"] = {{"run", explored.seconds}, {"workers", explored.sum.seconds}};
  out.coverage = {.complete = complete,
                  .covered = complete ? survey.crash_states.str() : explored.sum.covered.str(),
                  .nested_complete = judged_all ? options.nested : 0};
  if (options.lives > 1) {
    out.coverage.lives = {{"begun", explored.sum.lives}, {"new", explored.sum.new_lives}};
    out.notes.push_back(
        "a second life begins behind each recovery from a crash state that its first life does not show "
        "to be wrong; its own recoveries are not cut");
  }
  if (explored.surveyed) out.coverage.total = survey.crash_states.str();
  if (!complete && judged_all) {
    out.coverage.reason = "not all schedules: " + schedules["reason"].get<std::string>();
  } else {
    out.coverage.reason = explored.reason({options.budget_seconds, options.budget_executions},
                                          samples ? "strategy " + options.strategy + " samples" : "");
  }
  out.coverage.schedules = std::move(schedules);
  return out;
}

}  // namespace powercut
