#include "engine/benchmarks/measured_run.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <new>

namespace powercut {

namespace {

constexpr double kStallSeconds = 120;

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

Json Cost::json() const {
  return {{"seconds", seconds}, {"cpu_seconds", cpu_seconds}, {"peak_kib", peak_kib},
          {"events", events},   {"file_bytes", file_bytes},   {"raw_bytes", raw_bytes}};
}

Stretch::Stretch() : wall_(now(CLOCK_MONOTONIC)), cpu_(now(CLOCK_PROCESS_CPUTIME_ID)) {}

void Stretch::end(Cost* cost) const {
  cost->seconds = now(CLOCK_MONOTONIC) - wall_;
  cost->cpu_seconds = now(CLOCK_PROCESS_CPUTIME_ID) - cpu_;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  cost->peak_kib = static_cast<uint64_t>(usage.ru_maxrss);
}

Result<Cost> measured_run(const MeasuredBody& body) {
  struct Shared {
    Cost cost;
    char error[1024];
  };
  void* page = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return harness_error("cannot map shared memory", "powercut-bench-capture", "Free some memory and try again.");
  }
  auto* shared = new (page) Shared{};
  const ChildEnd end = supervise(kStallSeconds, [&](Progress& progress) {
    const std::optional<EngineError> wrong = body(shared->cost, progress);
    if (!wrong) return kExitOk;
    std::snprintf(shared->error, sizeof shared->error, "%s", wrong->message().c_str());
    return wrong->exit_code();
  });
  const Cost cost = shared->cost;
  const std::string error = shared->error;
  munmap(page, sizeof(Shared));
  if (end.error) return *end.error;
  if (end.exit_code != kExitOk) return harness_error(error, "powercut-bench-capture", "Correct that and try again.");
  return cost;
}

int print_measured(const char* program, const Result<Json>& measured) {
  if (!measured) {
    std::fprintf(stderr, "%s: %s\n", program, measured.error().message().c_str());
    return measured.error().exit_code();
  }
  std::printf("%s\n", measured->dump().c_str());
  return kExitOk;
}

}  // namespace powercut
