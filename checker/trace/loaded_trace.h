// A trace made ready for exploration: its plan, its target as built now, its configuration and traits.
#ifndef POWERCUT_CHECKER_TRACE_LOADED_TRACE_H_
#define POWERCUT_CHECKER_TRACE_LOADED_TRACE_H_

#include <memory>

#include "checker/trace/recovery_rules.h"
#include "replayer/executor/process_modules.h"
#include "replayer/media/medium.h"
#include "replayer/media/open_trace.h"
#include "tracer/format/reader.h"
#include "tracer/record/plan.h"
#include "tracer/record/target_library.h"

namespace powercut {

struct LoadedTrace {
  std::string trace;
  Plan plan;
  Json metadata;
  std::unique_ptr<TargetLibrary> library;
  std::unique_ptr<TargetConfig> config;
  powercut_traits traits{};
  powercut_device device{};          // that the pool is; its medium is POWERCUT_MEMORY where it is none
  std::vector<TraceModule> modules;  // the trace's, then what else is loaded here
  std::vector<ProcessModule> process_modules;
  std::vector<MemoryRange> globals;  // the target's writable data
  std::vector<CodeEdit> edits;       // of recovery, when the trace was edited
  uint64_t events = 0;

  const Medium& medium() const { return *medium_of_kind(device.medium); }
  std::string own_model() const { return std::string(medium().own_model().name()); }
  // The name of the model that `asked` means on this medium; `asked` itself where the medium has no such model.
  std::string model_for(const std::string& asked) const {
    const Persistency* model = medium().model_for(asked);
    return model == nullptr ? asked : std::string(model->name());
  }
  bool explored_at_start() const { return !plan.scenario.phases.empty() && plan.scenario.phases[0].explore; }
};

// Reads to the end. This process then knows the contents of a device (powercut/contents.h), whatever part of the trace
// it looks at later.
void pass_over(TraceReader* reader);

// Reads the trace's header and loads the target. A trace that another build of the target recorded is a usage
// error: its call stacks and its behaviour would not be this library's.
Result<std::unique_ptr<LoadedTrace>> load_trace(const std::string& trace);
std::optional<AtomPolicy> atom_policy(const std::string& name);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_TRACE_LOADED_TRACE_H_
