#include "checker/subjects/program/loaded_program.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "base/command_line.h"
#include "base/user_file.h"
#include "checker/subjects/program/commands/command.h"
#include "powercut/contents.h"
#include "replayer/media/medium.h"

namespace powercut {
namespace {

// Open files of this process, besides those of its workers: the trace, images, pipes.
constexpr uint64_t kOtherFiles = 64;

Result<ProgramCommands> parse_commands(const ProgramOptions& options, const TracePools& pools) {
  auto parsed = parse_steps(options, [&pools](const std::string& json, const std::string& option) {
    return parse_command(json, option, pools);
  });
  if (!parsed) return parsed.error();
  ProgramCommands out = std::move(*parsed);
  if (!options.tracer.empty()) {
    auto tracer = parse_trace_prefix(options.tracer, "--trace-prefix");
    if (!tracer) return tracer.error();
    out.tracer = std::move(*tracer);
  }
  if (options.nested > 0 && pools.changed_by_calls()) {
    auto tracer = parse_trace_prefix(options.device_tracer, "--device-prefix");
    if (!tracer) return tracer.error();
    out.device_tracer = std::move(*tracer);
  }
  if (options.nested > 0) out.cut = {options.model, options.policy()};
  // A report does not have recovery's stores: the tracer's stream does.
  const bool report = options.report_reads && !out.cut;
  const auto let_report = [report](Command* command) {
    command->reports = report && command->kind == ProgramKind::kForkable;
  };
  let_report(&out.recover);
  if (out.check) let_report(&*out.check);
  if (out.dump) let_report(&*out.dump);
  for (Command& probe : out.probes) let_report(&probe);
  return out;
}

}  // namespace

std::string work_folder(const ProgramOptions& options) {
  if (!options.work.empty()) return options.work;
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path().string();
}

Result<ProgramCommands> parse_steps(const ProgramOptions& options, const ParseCommand& parse) {
  ProgramCommands out;
  out.timeout = options.timeout;
  out.ordered = options.ordered;
  auto recover = parse(options.recover, "--recover");
  if (!recover) return recover.error();
  out.recover = std::move(*recover);
  for (const auto& [json, option, to] :
       {std::tuple{&options.check, "--check", &out.check}, std::tuple{&options.dump, "--dump", &out.dump},
        std::tuple{&options.continuation, "--continue", &out.continuation}}) {
    if (json->empty()) continue;
    auto command = parse(*json, option);
    if (!command) return command.error();
    *to = std::move(*command);
  }
  for (const std::string& json : options.probes) {
    auto command = parse(json, "--probe");
    if (!command) return command.error();
    out.probes.push_back(std::move(*command));
  }
  return out;
}

void add_recovery_options(CommandLine* command, ProgramOptions* options) {
  command->add_option("--trace", options->trace, "Trace file")->required();
  command->add_option("--recover", options->recover, "Recovery command, a JSON list of words; {image} is the pool")
      ->required();
  command->add_option("--check", options->check, "Consistency checker, run on what recovery left");
  command->add_option("--dump", options->dump, "Prints the contents; compared with those after every prefix");
  command
      ->add_option("--probe", options->probes,
                   "Uses the pool that recovery left, after the dump; its output is compared as well. Repeatable")
      ->allow_extra_args(false);
  command->add_flag("--ordered", options->ordered, "The order counts in which lines are printed");
  command->add_option("--timeout", options->timeout, "Seconds that one run of one command may take")
      ->range(0.001, 86400.0);
  command->add_option("--pool-path", options->pool_path, "Pool of a trace that does not name it");
  command->add_option("--work", options->work, "Folder for the crash images (default /dev/shm)");
}

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::open(const ProgramOptions& options) {
  auto reader = open_trace(options.trace);
  if (!reader) return reader.error();
  auto pools = pools_of_trace((*reader)->metadata(), options.trace, options.pool_path);
  if (!pools) return pools.error();
  auto commands = parse_commands(options, *pools);
  if (!commands) return commands.error();
  auto out = std::make_unique<LoadedProgram>();
  out->trace_ = options.trace;
  out->pools_ = std::move(*pools);
  out->commands_ = std::move(*commands);
  out->events_ = (*reader)->total_events();
  // Module definitions stand anywhere before their first use.
  Event event;
  while ((*reader)->next(&event)) {
    // With phases, the events before the first explored phase only prepare.
    if (event.kind == EventKind::kPhase) out->explored_at_start_ = false;
    // This call makes the contents of sectors known to this process.
    if (event.kind == EventKind::kContent) powercut_content_name(event.value.data(), event.value.size(), nullptr, 0);
    const bool store = event.kind == EventKind::kStore || event.kind == EventKind::kNtStore;
    if (store) out->storing_.insert(event.thread);
    const uint64_t space = out->pools_.space;
    if (store && (event.addr > space || event.value.size() > space - event.addr)) {
      return usage_error("event " + std::to_string(event.index) + " stores outside of the recorded pools",
                         options.trace, "Record it again with 'powercut record'.");
    }
  }
  if ((*reader)->error()) return usage_error(*(*reader)->error());
  out->modules_ = (*reader)->modules();

  // Recoveries that crash by the thousand must not leave a core file each.
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(SIGPIPE, SIG_IGN);
  auto guardian = Guardian::start(work_folder(options));
  if (!guardian) return guardian.error();
  out->guardian_ = std::move(*guardian);
  std::vector<std::string> files;
  for (const PoolWindow& window : out->pools_.windows) files.push_back(window.path);
  // The commands run where this process does.
  std::error_code nowhere;
  const std::string here = std::filesystem::current_path(nowhere).string();
  out->guardian_->look_after(out->pools_.other_files, DataFolders(files, here));
  return out;
}

Result<std::string> LoadedProgram::model(const std::string& wanted) const {
  const Medium& medium = pools_.medium();
  if (const Persistency* model = medium.model_for(wanted)) return std::string(model->name());
  return usage_error("the recorded program's pool is " + std::string(medium.called) + ", of which the model '" +
                         wanted + "' says nothing",
                     "--model " + wanted, "Leave it out, or record with --device FILE what is a file of sectors.");
}

Result<std::unique_ptr<ImageWorker>> LoadedProgram::worker(const std::string& name,
                                                           const std::atomic<bool>* cancel) const {
  return ImageWorker::create(folder() + "/" + name, pools_, commands_, guardian_.get(), cancel);
}

Result<std::vector<std::unique_ptr<ImageWorker>>> LoadedProgram::workers(int jobs,
                                                                         const std::atomic<bool>* cancel) const {
  // A worker has two processes for each command, with a tracer three, and each of them two of this one's files.
  const uint64_t commands = 1 + (commands_.check ? 1 : 0) + (commands_.dump ? 1 : 0) + commands_.probes.size();
  const uint64_t needed = static_cast<uint64_t>(jobs) * commands * (commands_.tracer ? 6 : 4) + kOtherFiles;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && needed > files.rlim_cur) {
    return usage_error(std::to_string(commands) + " commands in " + std::to_string(jobs) + " jobs need " +
                           std::to_string(needed) + " open files, and no more than " + std::to_string(files.rlim_cur) +
                           " are allowed",
                       "--jobs " + std::to_string(jobs),
                       "Raise the limit (ulimit -n " + std::to_string(needed) + "), or use fewer jobs or probes.");
  }
  std::vector<std::unique_ptr<ImageWorker>> out;
  for (int i = 0; i < jobs; ++i) {
    auto made = worker(std::to_string(i), cancel);
    if (!made) return made.error();
    out.push_back(std::move(*made));
  }
  return out;
}

Result<ExpectedOutputs> LoadedProgram::expected(const std::atomic<bool>* cancel, uint64_t* executions,
                                                const std::function<bool()>& goes_on) const {
  if (!commands_.print()) return ExpectedOutputs{};
  auto reader = open_trace(trace_);
  if (!reader) return reader.error();
  // A trace of one schedule names the trace of its tree, which has what operations come to in other orders.
  std::optional<ExpectedOutputs> tree;
  const Json metadata = parse_json((*reader)->metadata());
  const Json schedule = metadata.is_object() ? metadata.value("schedule", Json::object()) : Json::object();
  const auto whole = open_trace(schedule.value("of", std::string()));
  if (whole) {
    auto orders = observed("orders", cancel, executions, goes_on, [&](const ExpectedOutputs::Observe& observe) {
      return ExpectedOutputs::take_orders(whole->get(), pools_.space, observe);
    });
    if (!orders) return orders.error();
    tree = std::move(*orders);
  }
  return observed("expected", cancel, executions, goes_on, [&](const ExpectedOutputs::Observe& observe) {
    return ExpectedOutputs::take(reader->get(), pools_.space, observe, tree ? &*tree : nullptr);
  });
}

Result<ExpectedOutputs> LoadedProgram::observed(
    const std::string& name, const std::atomic<bool>* cancel, uint64_t* executions,
    const std::function<bool()>& goes_on,
    const std::function<Result<ExpectedOutputs>(const ExpectedOutputs::Observe&)>& take) const {
  auto made = worker(name, cancel);
  if (!made) return made.error();
  return take([&](const auto& lines) -> Result<ProgramOutcome> {
    if (!goes_on()) return harness_error("there is no time left", trace_, "Give it a longer --budget.");
    ++*executions;
    for (const auto& [line, content] : lines) (*made)->files().put(line, content);
    return (*made)->run();
  });
}

Result<std::unique_ptr<TraceFollower>> LoadedProgram::follower(const std::string& model, AtomPolicy policy,
                                                               uint8_t* pool) const {
  auto reader = open_trace(trace_);
  if (!reader) return reader.error();
  return std::make_unique<TraceFollower>(pools_.space, explored_at_start_, model, policy, std::move(*reader), pool);
}

Result<uint8_t*> LoadedProgram::memory() const {
  void* pool = mmap(nullptr, pools_.space, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pool == MAP_FAILED) {
    return harness_error("no memory for " + std::to_string(pools_.space) + " bytes of pools", trace_,
                         "Free some memory.");
  }
  return static_cast<uint8_t*>(pool);
}

void LoadedProgram::clear(uint8_t* memory) const { madvise(memory, pools_.space, MADV_DONTNEED); }

}  // namespace powercut
