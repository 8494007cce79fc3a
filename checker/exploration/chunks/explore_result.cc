#include "checker/exploration/chunks/explore_result.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "checker/exploration/reached_stores.h"
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

Json persisting_event(const Persisting& persisting, const TraceReader& stacks) {
  std::set<std::pair<uint32_t, uint64_t>> frames;
  for (const uint32_t stack : persisting.stores) {
    for (const Frame& frame : stacks.stack(stack)) frames.emplace(frame.module, frame.offset);
  }
  Json stores = Json::array(), flushes = Json::array();
  for (const auto& [module, offset] : frames) stores.push_back(Json::array({module, offset}));
  for (const uint32_t stack : persisting.flushes) {
    Json calls = Json::array();
    for (const Frame& frame : stacks.stack(stack)) calls.push_back(Json::array({frame.module, frame.offset}));
    if (!calls.empty()) flushes.push_back(calls);
  }
  return {{"event", "persisting"}, {"stores", stores}, {"flushes", flushes}};
}

Json performance_bug_event(const PerformanceBug& row, const TraceReader& stacks) {
  Json stack = Json::array();
  for (const Frame& frame : stacks.stack(row.stack)) stack.push_back(Json::array({frame.module, frame.offset}));
  return {{"event", "performance_bug"},
          {"kind", row.kind},
          {"count", row.count},
          {"of", row.of},
          {"stack", stack},
          {"offset", row.offset},
          {"first_event", row.event},
          {"message", row.message}};
}

}  // namespace

std::vector<std::string> assumptions(const std::string& model, const std::string& atoms, const std::string& judged,
                                     bool store_buffers, double budget_seconds) {
  std::vector<std::string> out = {"persistency model " + model};
  if (model == "block") {
    out.push_back("a write is whole within an atomic write unit; units reach the medium in any order until a flush");
  } else if (model == "flash") {
    out.push_back("an interrupted program leaves a page that is erased, complete, or cannot be read");
  } else {
    out.push_back(
        atoms == "any"
            ? "aligned 8-byte pieces of a store persist whole, in any order; mem* calls are cut where their moves begin"
        : atoms == "ascending"
            ? "aligned 8-byte pieces of a store persist whole, from low to high addresses (assumes ascending)"
            : "bytes of mem* calls persist in any order; 8-byte pieces of other stores whole, in any order");
    out.push_back("a line is written back whole");
    out.push_back("wide vector stores persist as whole words, by custom of processors");
    out.push_back(store_buffers ? "visibility is that of x86-TSO; flushes leave a store buffer in their order"
                                : "visibility is sequentially consistent");
  }
  out.push_back(judged);
  if (budget_seconds > 0) out.push_back("a budget in seconds: another run may get further");
  return out;
}

std::vector<Json> performance_events(const std::vector<PerformanceBug>& rows, const Persisting& persisting,
                                     const TraceReader& stacks) {
  std::vector<Json> out;
  const auto flushes = [](const PerformanceBug& row) { return row.kind != "never-persisted"; };
  if (std::ranges::any_of(rows, flushes)) out.push_back(persisting_event(persisting, stacks));
  for (const PerformanceBug& row : rows) out.push_back(performance_bug_event(row, stacks));
  return out;
}

Json result_event(const LoadedTrace& loaded, const ExploreOptions& options, const Explored& explored, double seconds) {
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
  return {{"event", "result"},
          {"verdict", verdict},
          {"events", loaded.events},
          {"crash_points", survey.crash_points},
          {"crash_states", survey.crash_states.str()},
          {"executions", explored.sum.executions},
          {"queries", explored.sum.query_answers},
          {"query_runs", explored.sum.query_runs},
          {"loads", explored.sum.loads},
          {"leaves", explored.leaves},
          {"maxima", maxima},
          {"functional", explored.functional},
          {"seconds", seconds},
          {"exploring_seconds", exploring == explored.sum.seconds.end() ? 0.0 : exploring->second},
          {"stats", {{"run", explored.seconds}, {"workers", explored.sum.seconds}}},
          {"coverage",
           {{"kind", complete ? "complete" : "sampled"},
            {"covered", complete ? survey.crash_states.str() : explored.sum.covered.str()},
            {"total", explored.surveyed ? Json(survey.crash_states.str()) : Json(nullptr)},
            {"nested_complete", judged_all ? options.nested : 0},
            {"schedules", schedules},
            {"reason", complete     ? Json(nullptr)
                       : judged_all ? Json("not all schedules: " + schedules["reason"].get<std::string>())
                                    : Json(reason_of(explored, options,
                                                     samples ? "strategy " + options.strategy + " samples" : ""))}}},
          {"assumptions", assumed},
          {"not_checked",
           {{"lines_never_read", lines_never_read(explored)},
            {"stores_never_reached", stores_never_reached(explored.reached)},
            {"uninstrumented_calls", uninstrumented_calls()},
            {"atoms", is_device(persistency_of(options.model)) ? "" : options.atoms},
            {"notes", notes}}}};
}

}  // namespace powercut
