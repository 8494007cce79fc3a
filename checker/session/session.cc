#include "checker/session/session.h"

#include "base/user_file.h"
#include "tracer/record/pool.h"

namespace powercut {

std::optional<AtomPolicy> atom_policy(const std::string& name) {
  if (name == "any") return AtomPolicy::kAny;
  if (name == "ascending") return AtomPolicy::kAscending;
  if (name == "byte") return AtomPolicy::kByte;
  return std::nullopt;
}

Result<std::unique_ptr<Session>> open_session(const std::string& trace) {
  auto session = std::make_unique<Session>();
  session->trace = trace;
  auto reader = open_trace(trace);
  if (!reader) return reader.error();
  session->events = (*reader)->total_events();
  auto plan = plan_of_trace((*reader)->metadata(), trace);
  if (!plan) return plan.error();
  session->plan = std::move(*plan);
  // Models and timelines have room for every line of it.
  if (auto wrong = check_pool_size(session->plan.scenario.pool_size, trace)) return *wrong;
  session->metadata = parse_json((*reader)->metadata());

  const std::vector<ProcessModule> before = process_modules();
  auto library = TargetLibrary::load(session->plan.target.library);
  if (!library) return library.error();
  session->library = std::make_unique<TargetLibrary>(std::move(*library));
  session->config = std::make_unique<TargetConfig>(session->plan.target.variant, session->plan.target.options,
                                                   session->plan.scenario.key_size, session->plan.scenario.value_size);
  auto traits = session->library->configure(session->plan.target.name, *session->config);
  if (!traits) return traits.error();
  session->traits = *traits;

  // All module definitions stand in the stream before their first use, so the whole trace has to be passed.
  Event event;
  while ((*reader)->next(&event)) {
  }
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  session->modules = (*reader)->modules();
  session->loaded = process_modules();
  const ProcessModule* own = module_at(session->loaded, session->library->resolved_path());
  if (own == nullptr) {
    return harness_error("the target's library is loaded, but not listed by the dynamic linker",
                         session->library->path(), "This is a bug of powercut, not of the target: please report it.");
  }
  const std::string recorded =
      session->metadata.contains("target") ? session->metadata["target"].value("build_id", "") : "";
  if (!recorded.empty() && recorded != own->module.build_id) {
    return usage_error("recorded from another build of target '" + session->plan.target.name + "' (build id " +
                           recorded.substr(0, 12) + ", the library here is " + own->module.build_id.substr(0, 12) + ")",
                       trace, "Record it again with 'powercut record'.");
  }
  session->globals = target_globals(before, session->loaded, *own);
  const auto rules = recovery_rules(session->metadata, trace);
  if (!rules) return rules.error();
  auto edits = code_edits(*rules, session->modules, session->loaded, trace);
  if (!edits) return edits.error();
  session->edits = std::move(*edits);
  for (const ProcessModule& module : session->loaded) {
    const auto same = [&](const TraceModule& m) {
      return m.path == module.module.path && m.build_id == module.module.build_id;
    };
    if (std::none_of(session->modules.begin(), session->modules.end(), same)) session->modules.push_back(module.module);
  }
  return session;
}

}  // namespace powercut
