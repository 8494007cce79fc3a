#include "checker/trace/explore_options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <vector>

#include "base/command_line.h"
#include "replayer/media/medium.h"
#include "xxhash.h"

namespace powercut {
namespace {

// A chunk begins with nothing remembered: its first crash point asks every query of every key. Large chunks make that
// rare; chunks of an eighth of a long trace still keep a few workers busy until the end, and lose little to a kill.
constexpr uint64_t kLeastEvents = 8192;
constexpr uint64_t kChunks = 8;
// In a trace that takes many machines, the chunks grow in number and not in size.
constexpr uint64_t kMostEvents = uint64_t{1} << 22;
// Under a budget in executions whole chunks count, in order. Small ones end near the budget.
constexpr uint64_t kEventsUnderBudget = 1024;

// Digest of a file's bytes; empty when it cannot be read.
std::string digest_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    XXH3_128bits_update(state, buffer.data(), static_cast<size_t>(file.gcount()));
  }
  const XXH128_hash_t digest = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  char text[33];
  std::snprintf(text, sizeof text, "%016lx%016lx", digest.high64, digest.low64);
  return file.eof() ? text : "";
}

std::string build_id_at(const LoadedTrace& loaded, const std::string& path) {
  const ProcessModule* module = module_at(loaded.process_modules, path);
  return module == nullptr ? "" : module->module.build_id;
}

}  // namespace

int64_t step_budget(int64_t given, uint64_t pool_size) {
  return given > 0 ? given : 4'000'000 + 4 * static_cast<int64_t>(pool_size);
}

Executor::Options executor_options(const LoadedTrace& loaded, const std::string& model, AtomPolicy policy,
                                   int64_t budget) {
  const uint64_t pool_size = loaded.plan.scenario.pool_size;
  return {.pool_size = pool_size,
          .policy = persistency_of(model)->policy(policy),
          .persistency = persistency_of(model),
          .step_budget = step_budget(budget, pool_size),
          .globals = loaded.globals,
          .own_code = executable_code(),
          .pool_is_mapped = false,
          .edits = loaded.edits};
}

void add_step_options(CommandLine* command, int64_t* step_budget, double* watchdog_seconds) {
  command->add_option("--step-budget", *step_budget, "Loop turns and calls that one execution may take");
  command->add_option("--watchdog-seconds", *watchdog_seconds, "Wall-clock limit of one step")->positive();
}

void add_model_options(CommandLine* command, std::string* model, std::string* atoms) {
  command->add_option("--model", *model, "adr or eadr; of a target on a device, block, flash or nor");
  command->add_option("--atoms", *atoms, "How a wide store may be torn: any, ascending or byte");
}

std::optional<EngineError> check_model(const std::string& model, const std::string& atoms, const std::string& command) {
  if (persistency_of(model) == nullptr) {
    return usage_error("unknown model '" + model + "'", command, "Use one of: " + all_model_names() + ".");
  }
  if (!atom_policy(atoms)) {
    return usage_error("unknown atom policy '" + atoms + "'", command, "Use one of: any, ascending, byte.");
  }
  return std::nullopt;
}

std::optional<EngineError> check_search(const LoadedTrace& loaded, const std::string& model, const std::string& atoms) {
  const Medium& medium = loaded.medium();
  const Persistency* fits = medium.model_for(model);
  if (fits == nullptr || fits->name() != model) {
    return usage_error(
        "the target's pool is " + std::string(medium.called) + ", of which the model " + model + " says nothing",
        loaded.trace, "Use --model " + medium.model_names() + ".");
  }
  const Search& search = loaded.plan.search;
  if (!is_tree(loaded.plan, loaded.metadata)) return std::nullopt;
  if (search.model != model) {
    return usage_error("its schedules were searched for the model " + search.model, loaded.trace,
                       "Record it again with --model " + model + ".");
  }
  if (atom_policy(atoms) == AtomPolicy::kAny) return std::nullopt;
  return usage_error("schedules of threads are searched for the atom policy any only", loaded.trace,
                     "Leave --atoms out, or take a scenario without threads.");
}

uint64_t chunk_events(const ExploreOptions& options, uint64_t events) {
  if (options.chunk_events > 0) return options.chunk_events;
  return options.budget_executions > 0 ? kEventsUnderBudget
                                       : std::clamp((events + kChunks - 1) / kChunks, kLeastEvents, kMostEvents);
}

std::optional<ChunkRange> parse_chunks(const std::string& text) {
  ChunkRange out;
  const char* end = text.data() + text.size();
  const auto [colon, wrong] = std::from_chars(text.data(), end, out.first);
  if (wrong != std::errc() || colon == end || *colon != ':') return std::nullopt;
  const auto [rest, also_wrong] = std::from_chars(colon + 1, end, out.end);
  if (also_wrong != std::errc() || rest != end || out.end <= out.first) return std::nullopt;
  return out;
}

Json identity_of(const LoadedTrace& loaded, const ExploreOptions& options) {
  return {{"trace", digest_of(options.trace)},
          {"engine", loaded.process_modules.empty() ? "" : loaded.process_modules[0].module.build_id},
          {"target", build_id_at(loaded, loaded.library->resolved_path())},
          {"strategy", options.strategy},
          {"model", options.model},
          {"atoms", options.atoms},
          {"nested", options.nested},
          {"lives", options.lives},
          {"seed", options.seed},
          {"samples", options.samples},
          {"budget_executions", options.budget_executions},
          {"step_budget", options.step_budget},
          {"paranoid", options.paranoid},
          {"list_recovery_sites", options.list_recovery_sites},
          {"remember", options.remember},
          {"merge_after", options.merge_after},
          {"chunk_events", chunk_events(options, loaded.events)}};
}

}  // namespace powercut
