#include "engine/plan_recording.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "checker/exploration/reached_stores.h"
#include "checker/schedules/thread_phase.h"
#include "replayer/media/open_trace.h"
#include "tracer/record/recorded_bytes.h"
#include "tracer/record/recording.h"
#include "tracer/runtime/recording/recorder.h"
#include "tracer/view/trace_stats.h"
#include "tracer/world/arena.h"

namespace powercut {

namespace {

using Clock = std::chrono::steady_clock;

// The uninstrumented functions that the recorded code calls: what they store is not in the trace.
std::vector<std::string> externals() {
  std::vector<const char*> names(powercut_externals(nullptr, 0));
  names.resize(std::min<size_t>(names.size(), powercut_externals(names.data(), static_cast<uint32_t>(names.size()))));
  return {names.begin(), names.end()};
}

// Writes a 32-bit little-endian number for each operation; without a path, nothing.
std::optional<EngineError> write_counts(const std::string& path, const std::vector<uint32_t>& each) {
  if (path.empty()) return std::nullopt;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(each.data()), static_cast<std::streamsize>(each.size() * sizeof(uint32_t)));
  file.close();
  if (file) return std::nullopt;
  return usage_error("cannot be written", path, "Choose a folder that exists and may be written to.");
}

// The trace of `plan` at `options.trace`, and the `recorded` event about it.
Result<Json> record(const Plan& plan, const RecordOptions& options, Progress& progress) {
  Clock::time_point start = Clock::now();
  progress.start("loading the library", plan.target.library);
  Result<TargetLibrary> library = TargetLibrary::load(plan.target.library);
  if (!library) return library.error();
  // Code without hooks would fault at each access.
  const bool instrumented = powercut_modules() != 0;
  if (!instrumented && !options.unseen_stores) {
    return usage_error("no store of this library can be seen: it was not compiled through the tracing pass",
                       plan.target.library,
                       "Compile and link it with 'powercut cc' or 'powercut c++', which add the pass.");
  }
  const std::string where = "scenario " + plan.scenario.name;
  Result<Pool> pool =
      instrumented ? Pool::map_watched(plan.scenario.pool_size, where) : Pool::map(plan.scenario.pool_size, where);
  if (!pool) return pool.error();
  TargetConfig config(plan.target.variant, plan.target.options, plan.scenario.data);
  progress.start("traits", plan.target.library);
  Result<powercut_traits> traits = library->configure(plan.target.name, config);
  if (!traits) return traits.error();

  TraceError error;
  std::string metadata =
      trace_metadata(plan, *library, *traits, *pool).dump(-1, ' ', false, Json::error_handler_t::replace);
  std::unique_ptr<TraceWriter> writer = TraceWriter::create(options.trace, metadata, &error);
  if (writer == nullptr) return usage_error(error);
  Recording::Marks marks;
  LoadCounter loads(options.cached_lines);
  std::optional<ThreadPhase> threads;
  if (plan.scenario.has_threads()) {
    if (!instrumented) {
      return usage_error("threads are scheduled by hooks, and this library has none", plan.target.library,
                         "Compile and link it with 'powercut cc' or 'powercut c++', which add the pass.");
    }
    if (traits->thread_safe == 0) {
      return usage_error("the target does not say that threads may use it at the same time", where,
                         "Choose a configuration that does ('powercut list targets'), or declare thread_safe "
                         "in its traits.");
    }
    const Result<powercut_device> device = library->device(config);
    if (!device) return device.error();
    if (device->medium != POWERCUT_MEMORY) {
      return usage_error("threads are followed in memory, and the target's pool is a device", where,
                         "Give the operations to one thread, in 'steps'.");
    }
    map_arena(kPoolBase + pool->size());
  }
  {
    Recorder recorder(*writer, reinterpret_cast<uint64_t>(pool->base()), pool->size());
    const Capture capture{*writer, recorder, options.count_loads ? &loads : nullptr};
    if (plan.scenario.has_threads()) threads.emplace(plan, *library, *traits, *pool, writer.get(), &recorder);

    Recording recording(plan, *library, config, traits->checks_exists != 0, *pool, &capture, progress,
                        threads ? &*threads : nullptr, threads ? &*threads : nullptr);
    if (std::optional<EngineError> wrong = recording.run()) return *wrong;
    marks = recording.marks();
    if (pool->watched() && pool_was_written_around(pool->size())) {
      return harness_error(
          "the pool was written to by the kernel, around every instruction: these stores are not recorded", where,
          "Take that path out of the scenario.");
    }
  }
  if (std::optional<TraceError> wrong = writer->finish()) return usage_error(*wrong);

  // Counted from the file: the report has the numbers of the written trace.
  progress.start("reading the trace back", options.trace);
  const auto opened = open_trace(options.trace);
  if (!opened) return opened.error();
  TraceReader* reader = opened->get();
  TraceStats stats;
  RecordedBytes bytes(pool->size(), plan.search.kind != "recorded");
  for (Event event; reader->next(&event);) {
    stats.add(event);
    bytes.add(event);
  }
  if (reader->error()) return usage_error(*reader->error());
  stats.finish();
  const std::vector<std::string> called = externals();
  if (!options.unseen_stores) {
    if (std::optional<EngineError> wrong = bytes.unrecorded(*pool, plan.target.library, called)) return *wrong;
  }
  Json recorded{{"event", "recorded"},
                {"trace", options.trace},
                {"events", stats.events()},
                {"operations", stats.operations()},
                {"bytes", std::filesystem::file_size(options.trace)},
                {"marks", marks},
                {"marks_missing", Json::array()},  // a missing one is an error
                {"externals", called},
                {"stores_never_reached", instrumented ? stores_never_reached({}) : Json(nullptr)},
                {"seconds", std::chrono::duration<double>(Clock::now() - start).count()},
                {"counters", TraceStats::json(stats.all())},
                {"counters_explored", TraceStats::json(stats.explored())}};
  if (threads) {
    recorded["schedules"] = threads->summary();
    recorded["schedules_seconds"] = threads->seconds();
  }
  if (options.count_loads) recorded["lines_read"] = loads.lines();
  if (std::optional<EngineError> wrong = write_counts(options.loads, loads.each())) return *wrong;
  if (std::optional<EngineError> wrong = write_counts(options.media_reads, loads.each_blocks())) return *wrong;
  return recorded;
}

}  // namespace

std::optional<int> record_plan(const RecordOptions& options, EventStream& events) {
  Result<Plan> plan = read_plan(options.plan);
  if (!plan) return events.error(plan.error());
  ChildEnd end = supervise(options.operation_timeout, [&](Progress& progress) {
    Result<Json> recorded = record(*plan, options, progress);
    if (!recorded) return events.error(recorded.error());
    events.emit(*recorded);
    return kExitOk;
  });
  if (end.error) {
    unlink(TraceWriter::partial_path(options.trace, end.pid).c_str());
    return events.error(*end.error);
  }
  if (end.exit_code != kExitOk) return end.exit_code;
  return std::nullopt;
}

}  // namespace powercut
