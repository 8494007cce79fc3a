// `powercut-bench-program`: how many recovery runs program mode makes a second on one core, as one JSON object.
//
// Each image differs from the one before it in one line, and recovery changes two pages, so a run is: write a line, run
// the command, find and restore what it changed. `dense`: every page of the pool has data; `sparse`: one in sixteen.
// `forked` runs come from the fork server, `started` ones are executed anew. Everything, runs included, is on one core,
// and its processor time counts, of all processes: other work on the machine does not. The best of the repetitions is
// told, since noise only slows down. `traced` runs tell their reads under the tool that --trace-prefix names.
// `followed` runs tell their reads themselves, `reported` runs in the program that `powercut cc` has built: reads of
// the first 64 pages and the last one, where images differ.
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/command_line.h"
#include "base/repeatable_process.h"
#include "checker/subjects/program/workers/image_worker.h"

namespace powercut {
namespace {

struct Options {
  uint64_t runs = 2000;
  int repeat = 3;
  std::string tracer, only;
};

struct Case {
  const char* name;
  uint64_t size;
  uint64_t every;  // page that has data
  bool plain;
};
constexpr Case kCases[] = {{"forked_1_mib_dense", 1 << 20, 1, false},
                           {"forked_8_mib_sparse", 8 << 20, 16, false},
                           {"forked_8_mib_dense", 8 << 20, 1, false},
                           {"started_1_mib_dense", 1 << 20, 1, true}};

enum class Way { kPlain, kTraced, kFollowed, kReported };

Content line_of(uint64_t number) {
  Content out;
  std::memcpy(out.bytes.data(), &number, sizeof number);
  out.bytes[63] = 1;
  return out;
}

// Processor time of this process and of all that it has waited for.
double processor_seconds() {
  double out = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(who, &used);
    for (const timeval& part : {used.ru_utime, used.ru_stime}) {
      out += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) / 1e6;
    }
  }
  return out;
}

std::string recovery(Way way) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/powercut-bench-pool-check" +
         (way == Way::kReported ? "-reporting" : "");
}

// Seconds of `runs` runs.
Result<double> measure(const Options& options, const Case& what, uint64_t runs, Way way) {
  const bool traced = way != Way::kPlain;
  TracePools pools;
  pools.windows.push_back({.path = "/nowhere/pool", .offset = 0, .size = what.size, .address = 0});
  pools.space = what.size;
  auto guardian = Guardian::start("/dev/shm");
  if (!guardian) return guardian.error();
  const std::string program = recovery(way);
  ProgramCommands commands;
  auto recover = parse_command(Json({program, "{image}"}).dump(), "recovery", pools);
  if (!recover) return recover.error();
  commands.recover = std::move(*recover);
  if (what.plain) commands.recover.kind = ProgramKind::kPlain;
  commands.recover.reports = way == Way::kFollowed || way == Way::kReported;
  if (way == Way::kTraced) {
    auto tracer = parse_trace_prefix(options.tracer, "--trace-prefix");
    if (!tracer) return tracer.error();
    commands.tracer = std::move(*tracer);
  }
  auto worker = ImageWorker::create((*guardian)->folder() + "/0", pools, commands, guardian->get(), nullptr);
  if (!worker) return worker.error();
  std::set<uint64_t> differ = {what.size / 4096 - 1};
  for (uint64_t page = 0; page < 64; ++page) differ.insert(page);
  (*worker)->follow(differ);
  for (uint64_t page = 0; page < what.size / 4096; page += what.every)
    (*worker)->files().put(page * 64 + 1, line_of(1));

  const auto run = [&](uint64_t number) -> std::optional<EngineError> {
    (*worker)->files().put(number % 64 * 64 + 2, line_of(number));
    ProgramOutcome outcome;
    if (traced) {
      auto made = (*worker)->trace();
      if (!made) return made.error();
      if (!made->reads) return harness_error(made->why, program, "Run it by hand.");
      outcome = made->outcome;
    } else {
      auto made = (*worker)->run();
      if (!made) return made.error();
      outcome = *made;
    }
    if (!outcome.ok()) return harness_error("recovery failed: " + outcome.text(), program, "Run 'make build' again.");
    return std::nullopt;
  };
  const double start = processor_seconds();
  for (uint64_t i = 0; i < runs; ++i) {
    if (auto wrong = run(i)) return *wrong;
  }
  // The runs' time is known once their server has ended.
  worker->reset();
  return processor_seconds() - start;
}

int measure_all(const Options& options) {
  cpu_set_t one;
  sched_getaffinity(0, sizeof one, &one);
  int core = CPU_SETSIZE - 1;
  while (core > 0 && !CPU_ISSET(core, &one)) --core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
  Json out = Json::object();
  const auto best = [&](const std::string& name, const Case& what, uint64_t runs, Way way) {
    if (!options.only.empty() && options.only != name) return true;
    double fastest = 0;
    for (int i = 0; i < options.repeat; ++i) {
      auto seconds = measure(options, what, runs, way);
      if (!seconds) {
        std::fprintf(stderr, "powercut-bench-program: %s\n", seconds.error().message().c_str());
        return false;
      }
      fastest = std::max(fastest, static_cast<double>(runs) / *seconds);
    }
    out[name] = fastest;
    return true;
  };
  for (const Case& what : kCases) {
    if (!best(what.name, what, what.plain ? options.runs / 4 : options.runs, Way::kPlain)) return kExitUnknown;
  }
  if (!best("followed_1_mib_dense", kCases[0], options.runs, Way::kFollowed)) return kExitUnknown;
  // A build without the pass has no program that reports.
  if (std::filesystem::exists(recovery(Way::kReported)) &&
      !best("reported_1_mib_dense", kCases[0], options.runs, Way::kReported)) {
    return kExitUnknown;
  }
  const uint64_t traced = options.runs / 40;
  if (!options.tracer.empty() && !best("traced_1_mib_dense", kCases[0], traced, Way::kTraced)) return kExitUnknown;
  std::puts(out.dump().c_str());
  return kExitOk;
}

}  // namespace
}  // namespace powercut

int main(int argc, char** argv) {
  powercut::CommandLine app("Measures recovery runs of program mode.", "powercut-bench-program");
  powercut::Options options;
  app.add_option("--runs", options.runs, "Runs of one measurement")->range(4, 10'000'000);
  app.add_option("--repeat", options.repeat, "Repetitions")->range(1, 1000);
  app.add_option("--trace-prefix", options.tracer, "As of powercut-engine program; traced runs are measured as well");
  app.add_option("--only", options.only, "One of the cases");
  if (const auto ended = app.parse(argc, argv)) return ended->exit_code;
  powercut::make_repeatable();
  return powercut::measure_all(options);
}
