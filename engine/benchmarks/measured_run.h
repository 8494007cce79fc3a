// One run in a process of its own, and what it cost. Runs that are compared start from the same untouched process.
#ifndef POWERCUT_ENGINE_BENCHMARKS_MEASURED_RUN_H_
#define POWERCUT_ENGINE_BENCHMARKS_MEASURED_RUN_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "base/event_stream.h"
#include "base/supervisor.h"

namespace powercut {

struct Cost {
  double seconds = 0;      // wall clock
  double cpu_seconds = 0;  // of all threads, user and system
  uint64_t peak_kib = 0;   // resident
  uint64_t events = 0;     // recorded or read; the bytes of the file, and of its records before compression
  uint64_t file_bytes = 0, raw_bytes = 0;

  Json json() const;
};

// Clocks of a stretch of the calling process.
class Stretch {
 public:
  Stretch();
  // The time since the construction, and the process's peak of memory so far.
  void end(Cost* cost) const;

 private:
  double wall_, cpu_;
};

// The end of a benchmark program: prints what was measured, or the error. The process's exit status.
int print_measured(const char* program, const Result<Json>& measured);

using MeasuredBody = std::function<std::optional<EngineError>(Cost& cost, Progress& progress)>;
Result<Cost> measured_run(const MeasuredBody& body);

}  // namespace powercut
#endif  // POWERCUT_ENGINE_BENCHMARKS_MEASURED_RUN_H_
