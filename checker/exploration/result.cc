#include "checker/exploration/result.h"

#include "base/result.h"
#include "checker/exploration/ended.h"
#include "replayer/media/medium.h"

namespace powercut {

std::string Ended::reason(const Budget& budget, const std::string& sampled) const {
  if (functional) return "it stopped at a bug that needs no power cut; --keep-going goes on";
  if (interrupted) return "interrupted";
  if (out_of_time) {
    return "the budget of " + std::to_string(static_cast<uint64_t>(budget.seconds)) + " s was used up";
  }
  if (out_of_executions) {
    return "the budget of " + std::to_string(budget.executions) + " executions was used up";
  }
  if (!troubles.empty()) return troubles.front();
  return sampled.empty() ? "some line has more candidates than are explored" : sampled;
}

std::vector<std::string> assumptions(const std::string& model, const std::string& atoms, const std::string& judged,
                                     bool store_buffers, double budget_seconds) {
  std::vector<std::string> out = {"persistency model " + model};
  for (std::string& rule : persistency_of(model)->assumptions(atoms, store_buffers)) out.push_back(std::move(rule));
  out.push_back(judged);
  if (budget_seconds > 0) out.push_back("a budget in seconds: another run may get further");
  return out;
}

Json ExplorationResult::event() const {
  Json out = {{"event", "result"}, {"verdict", verdict}};
  if (withdrawn) out["withdrawn"] = *withdrawn;
  out["functional"] = functional;
  out["events"] = events;
  out["crash_points"] = crash_points;
  out["crash_states"] = crash_states;
  out["executions"] = executions;
  out["queries"] = queries;
  if (query_runs) out["query_runs"] = *query_runs;
  out["loads"] = loads;
  out["leaves"] = leaves;
  out.update(counts);
  out["seconds"] = seconds;
  out.update(times);
  Json& looked_at = out["coverage"] = {{"kind", coverage.complete ? "complete" : "sampled"},
                                       {"covered", coverage.covered},
                                       {"total", coverage.total ? Json(*coverage.total) : Json(nullptr)},
                                       {"nested_complete", coverage.nested_complete}};
  if (coverage.acknowledged) looked_at["acknowledged"] = *coverage.acknowledged;
  looked_at["schedules"] = coverage.schedules;
  if (coverage.operations) looked_at["operations"] = *coverage.operations;
  if (coverage.lives) looked_at["lives"] = *coverage.lives;
  looked_at["reason"] = coverage.complete ? Json(nullptr) : Json(coverage.reason);
  out["assumptions"] = assumptions;
  out["not_checked"] = {{"lines_never_read", lines_never_read},
                        {"stores_never_reached", stores_never_reached},
                        {"uninstrumented_calls", uninstrumented_calls},
                        {"atoms", atoms},
                        {"notes", notes}};
  return out;
}

int ExplorationResult::exit_code() const {
  const std::string_view came_to = verdict;
  if (came_to == "inconsistent") return kExitFindings;
  return came_to == "consistent" && coverage.complete ? kExitOk : kExitUnknown;
}

}  // namespace powercut
