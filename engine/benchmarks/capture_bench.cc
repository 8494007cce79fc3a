// `powercut-bench-capture`: what recording costs, side by side in one run, as one JSON object.
//
//   native         the workload on the library without instrumentation, with its real flushes and fences
//   native_no_flush  the same without write-back instructions, as the engine runs a target: the stricter comparison
//   recorded       the same workload recorded to a file, until the file is complete
//   stores, stores_native   a loop of 8-byte stores, recorded and not
//   stores_tenth   a tenth of these stores: the same peak of memory
//   read, stores_read   the recorded trace decoded from its first event to its last
// Each is a process of its own; the runs take turns and the fastest of each counts, since noise only slows down.
// Generating the workload counts on both sides; mapping the pool and loading the library count on neither.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/command_line.h"
#include "base/repeatable_process.h"
#include "engine/benchmarks/measured_run.h"
#include "engine/benchmarks/write_backs.h"
#include "tracer/format/reader.h"
#include "tracer/record/recording.h"

namespace powercut {

namespace {

struct Options {
  std::string plan, plain, store_loop, folder;
  uint64_t stores = 20'000'000;
  int repeat = 3;
};

enum class WriteBacks { kReal, kNone };

using Failure = std::optional<EngineError>;

// Runs the plan's workload on `library`, and records it to `trace` unless that is empty.
Failure run_workload(const Plan& plan, const std::string& library_path, WriteBacks write_backs,
                     const std::string& trace, Cost& cost, Progress& progress) {
  Result<Pool> pool = Pool::map(plan.scenario.pool_size, "scenario " + plan.scenario.name);
  if (!pool) return pool.error();
  Result<TargetLibrary> library = TargetLibrary::load(library_path);
  if (!library) return library.error();
  if (write_backs == WriteBacks::kNone) {
    if (Failure wrong = swallow_write_backs(library->resolved_path())) return wrong;
  }
  TargetConfig config(plan.target.variant, plan.target.options, plan.scenario.data);
  Result<powercut_traits> traits = library->configure(plan.target.name, config);
  if (!traits) return traits.error();
  const bool checks_exists = traits->checks_exists != 0;

  const Stretch stretch;
  if (trace.empty()) {
    Recording native(plan, *library, config, checks_exists, *pool, nullptr, progress);
    if (Failure wrong = native.run()) return wrong;
    stretch.end(&cost);
    return std::nullopt;
  }
  TraceError error;
  const std::string metadata = trace_metadata(plan, *library, *traits, *pool).dump();
  std::unique_ptr<TraceWriter> writer = TraceWriter::create(trace, metadata, &error);
  if (writer == nullptr) return usage_error(error);
  {
    Recorder recorder(*writer, reinterpret_cast<uint64_t>(pool->base()), pool->size());
    const Capture capture{*writer, recorder};
    Recording recording(plan, *library, config, checks_exists, *pool, &capture, progress);
    if (Failure wrong = recording.run()) return wrong;
  }
  if (std::optional<TraceError> wrong = writer->finish()) return usage_error(*wrong);
  stretch.end(&cost);
  cost.events = writer->events();
  cost.file_bytes = std::filesystem::file_size(trace);
  return std::nullopt;
}

// `count` stores into a pool of 16 MiB, recorded to `trace` unless that is empty.
Failure run_stores(const std::string& library, uint64_t count, const std::string& trace, Cost& cost) {
  using StoreLoop = void(uint64_t* pool, uint64_t words, uint64_t count);
  constexpr uint64_t kPool = 16 << 20;
  void* handle = dlopen(library.c_str(), RTLD_NOW);
  auto* loop = handle == nullptr ? nullptr : reinterpret_cast<StoreLoop*>(dlsym(handle, "powercut_bench_stores"));
  if (loop == nullptr) return usage_error(std::string("cannot load: ") + dlerror(), library, "Build it again.");
  Result<Pool> pool = Pool::map(kPool, "the loop of stores");
  if (!pool) return pool.error();
  auto* words = reinterpret_cast<uint64_t*>(pool->base());

  const Stretch stretch;
  if (trace.empty()) {
    loop(words, kPool / 8, count);
    stretch.end(&cost);
    return std::nullopt;
  }
  TraceError error;
  std::unique_ptr<TraceWriter> writer = TraceWriter::create(trace, "{}", &error);
  if (writer == nullptr) return usage_error(error);
  Recorder recorder(*writer, reinterpret_cast<uint64_t>(pool->base()), pool->size());
  const powercut_sink sink = recorder.sink();
  powercut_set_sink(&sink);
  __powercut_store_window = recorder.store_window();
  // Stacks end here, as they end where the engine calls a target.
  const auto* here = static_cast<const char*>(__builtin_frame_address(0));
  powercut_stack_range(here - (1 << 20), here);
  loop(words, kPool / 8, count);
  __powercut_store_window = {0, 0};
  powercut_set_sink(nullptr);
  if (std::optional<TraceError> wrong = writer->finish()) return usage_error(*wrong);
  stretch.end(&cost);
  cost.events = writer->events();
  cost.file_bytes = std::filesystem::file_size(trace);
  return std::nullopt;
}

Failure run_reader(const std::string& trace, Cost& cost) {
  TraceError error;
  std::unique_ptr<TraceReader> reader = TraceReader::open(trace, &error);
  if (reader == nullptr) return usage_error(error);
  const Stretch stretch;
  Event event;
  while (reader->next(&event)) ++cost.events;
  stretch.end(&cost);
  if (reader->error()) return usage_error(*reader->error());
  cost.file_bytes = std::filesystem::file_size(trace);
  cost.raw_bytes = reader->raw_bytes();
  return std::nullopt;
}

Result<Json> measure(const Options& options) {
  Result<Plan> plan = read_plan(options.plan);
  if (!plan) return plan.error();
  const std::string trace = options.folder + "/workload.pct", loop = options.folder + "/stores.pct";
  struct Case {
    const char* name;
    MeasuredBody body;
  };
  const std::string& instrumented = plan->target.library;
  const Case cases[] = {
      {"native",
       [&](Cost& cost, Progress& progress) {
         return run_workload(*plan, options.plain, WriteBacks::kReal, "", cost, progress);
       }},
      {"native_no_flush",
       [&](Cost& cost, Progress& progress) {
         return run_workload(*plan, options.plain, WriteBacks::kNone, "", cost, progress);
       }},
      {"recorded",
       [&](Cost& cost, Progress& progress) {
         return run_workload(*plan, instrumented, WriteBacks::kReal, trace, cost, progress);
       }},
      {"read", [&](Cost& cost, Progress&) { return run_reader(trace, cost); }},
      {"stores_native",
       [&](Cost& cost, Progress&) { return run_stores(options.store_loop, options.stores, "", cost); }},
      {"stores_tenth",
       [&](Cost& cost, Progress&) { return run_stores(options.store_loop, options.stores / 10, loop, cost); }},
      {"stores", [&](Cost& cost, Progress&) { return run_stores(options.store_loop, options.stores, loop, cost); }},
      {"stores_read", [&](Cost& cost, Progress&) { return run_reader(loop, cost); }},
  };
  std::vector<std::optional<Cost>> best(std::size(cases));
  for (int turn = 0; turn < options.repeat; ++turn) {
    for (size_t i = 0; i < std::size(cases); ++i) {
      Result<Cost> cost = measured_run(cases[i].body);
      if (!cost) return cost.error();
      if (!best[i] || cost->seconds < best[i]->seconds) best[i] = *cost;
    }
  }
  Json all;
  for (size_t i = 0; i < std::size(cases); ++i) all[cases[i].name] = best[i]->json();
  return all;
}

}  // namespace

}  // namespace powercut

int main(int argc, char** argv) {
  using namespace powercut;
  make_repeatable();
  Options options;
  CommandLine app("The cost of recording.", "powercut-bench-capture");
  app.add_option("--plan", options.plan, "Plan of the workload; its library is the instrumented one")->required();
  app.add_option("--plain", options.plain, "The target without instrumentation")->required();
  app.add_option("--store-loop", options.store_loop, "Library of the loop of stores")->required();
  app.add_option("--folder", options.folder, "Where the traces go")->required();
  app.add_option("--stores", options.stores, "Stores of the loop")->capture_default_str();
  app.add_option("--repeat", options.repeat, "Runs of each kind; the fastest counts")
      ->positive()
      ->capture_default_str();
  if (const auto ended = app.parse(argc, argv)) return ended->exit_code;
  return print_measured("powercut-bench-capture", measure(options));
}
