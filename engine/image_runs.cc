#include "engine/image_runs.h"

#include <algorithm>
#include <utility>

namespace powercut {
namespace {

Json run_json(const ProgramOutcome& outcome) {
  constexpr const char* kKinds[] = {"ok", "exit", "signal", "timeout"};
  return {{"step", outcome.step.kind == ProgramStep::Kind::kProbe ? "probe" : name_of(outcome.step)},
          {"probe", outcome.step.probe},
          {"kind", kKinds[static_cast<size_t>(outcome.kind)]},
          {"code", outcome.code},
          {"shown", shortened(outcome.text(), kShown)}};
}

// Two outcomes that differ, up to the first step that differs.
void cut_at_difference(ProgramOutcome* one, ProgramOutcome* other, bool ordered) {
  size_t at = 0;
  while (at < one->printed.size() && at < other->printed.size() &&
         one->printed[at].alike(other->printed[at], ordered)) {
    ++at;
  }
  for (ProgramOutcome* outcome : {one, other}) {
    if (at >= outcome->printed.size()) continue;
    outcome->printed.resize(at + 1);
    outcome->step = outcome->printed[at].step;
    outcome->kind = ProgramOutcome::Kind::kOk;
    outcome->code = 0;
  }
}

}  // namespace

Json runs_json(std::vector<ProgramOutcome> outcomes, bool ordered) {
  const auto differs = std::ranges::find_if(
      outcomes, [&](const ProgramOutcome& outcome) { return !outcome.alike(outcomes.front(), ordered); });
  const bool same = differs == outcomes.end();
  if (!same) cut_at_difference(&outcomes.front(), &*differs, ordered);
  Json runs = Json::array();
  for (const ProgramOutcome& outcome : outcomes) runs.push_back(run_json(outcome));
  return {{"runs", runs}, {"same", same}};
}

}  // namespace powercut
