#include "checker/trace/loaded_trace.h"

#include "base/user_file.h"
#include "powercut/contents.h"
#include "tracer/record/pool.h"

namespace powercut {

std::optional<AtomPolicy> atom_policy(const std::string& name) {
  if (name == "any") return AtomPolicy::kAny;
  if (name == "ascending") return AtomPolicy::kAscending;
  if (name == "byte") return AtomPolicy::kByte;
  return std::nullopt;
}

void pass_over(TraceReader* reader) {
  Event event;
  while (reader->next(&event)) {
    if (event.kind == EventKind::kContent) powercut_content_name(event.value.data(), event.value.size(), nullptr, 0);
  }
}

Result<std::unique_ptr<LoadedTrace>> load_trace(const std::string& trace) {
  auto loaded = std::make_unique<LoadedTrace>();
  loaded->trace = trace;
  auto reader = open_trace(trace);
  if (!reader) return reader.error();
  loaded->events = (*reader)->total_events();
  auto plan = plan_of_trace((*reader)->metadata(), trace);
  if (!plan) return plan.error();
  loaded->plan = std::move(*plan);
  // Models and timelines have room for every line of it.
  if (auto wrong = check_pool_size(loaded->plan.scenario.pool_size, trace)) return *wrong;
  loaded->metadata = parse_json((*reader)->metadata());

  const std::vector<ProcessModule> before = process_modules();
  auto library = TargetLibrary::load(loaded->plan.target.library);
  if (!library) return library.error();
  loaded->library = std::make_unique<TargetLibrary>(std::move(*library));
  loaded->config = std::make_unique<TargetConfig>(loaded->plan.target.variant, loaded->plan.target.options,
                                                  loaded->plan.scenario.data);
  auto traits = loaded->library->configure(loaded->plan.target.name, *loaded->config);
  if (!traits) return traits.error();
  loaded->traits = *traits;
  auto device = loaded->library->device(*loaded->config);
  if (!device) return device.error();
  loaded->device = *device;

  // All module definitions stand in the stream before their first use, so the whole trace has to be passed.
  pass_over(reader->get());
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  loaded->modules = (*reader)->modules();
  loaded->process_modules = process_modules();
  const ProcessModule* own = module_at(loaded->process_modules, loaded->library->resolved_path());
  if (own == nullptr) {
    return harness_error("the target's library is loaded, but not listed by the dynamic linker",
                         loaded->library->path(), "This is a bug of powercut, not of the target: please report it.");
  }
  const std::string recorded =
      loaded->metadata.contains("target") ? loaded->metadata["target"].value("build_id", "") : "";
  if (!recorded.empty() && recorded != own->module.build_id) {
    return usage_error("recorded from another build of target '" + loaded->plan.target.name + "' (build id " +
                           recorded.substr(0, 12) + ", the library here is " + own->module.build_id.substr(0, 12) + ")",
                       trace, "Record it again with 'powercut record'.");
  }
  loaded->globals = target_globals(before, loaded->process_modules, *own);
  const auto rules = recovery_rules(loaded->metadata, trace);
  if (!rules) return rules.error();
  auto edits = code_edits(*rules, loaded->modules, loaded->process_modules, trace);
  if (!edits) return edits.error();
  loaded->edits = std::move(*edits);
  for (const ProcessModule& module : loaded->process_modules) {
    const auto same = [&](const TraceModule& m) {
      return m.path == module.module.path && m.build_id == module.module.build_id;
    };
    if (std::none_of(loaded->modules.begin(), loaded->modules.end(), same)) loaded->modules.push_back(module.module);
  }
  return loaded;
}

}  // namespace powercut
