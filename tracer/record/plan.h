// The plan of scenarios/SCHEMA.md: a target, and the workload for it. Parsing is strict: an unknown key, a missing key
// or a value out of range is a usage error. The error names the place in the plan ("scenario.phases[1].steps[0].from").
#ifndef POWERCUT_TRACER_RECORD_PLAN_H_
#define POWERCUT_TRACER_RECORD_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/event_stream.h"
#include "base/result.h"
#include "tracer/record/data_sizes.h"

namespace powercut {

struct TargetSpec {
  std::string library;  // path of the shared library
  std::string name;     // the target's own name; empty: whatever the library says
  std::string variant;
  std::vector<std::pair<std::string, std::string>> options;
};

// The distribution by which a mix draws keys.
enum class Distribution { kUniform, kZipfian, kLatest };

struct Mix {
  uint64_t operations = 0;
  // Shares of the operations, each in [0, 1]; they add up to 1.
  // With increments, an insert is one of a fresh key.
  double read = 0, update = 0, insert = 0, increment = 0, erase = 0, rmw = 0;
  Distribution distribution = Distribution::kZipfian;
  double theta = 0.99;  // in (0, 1); skew of zipfian and latest
};

// Limits of a thread that has a choice: its operations, and the alternatives of one operation.
inline constexpr size_t kMostChoosing = 8, kMostAlternatives = 64;

enum class StepKind { kInsert, kUpdate, kErase, kLookup, kIncrement, kMaintain, kFill, kUntil, kMix, kAny };

struct Step {
  StepKind kind{};
  std::vector<uint64_t> keys;  // insert, update, erase, lookup, increment: these keys, or ...
  uint64_t from = 0, to = 0;   // ... this closed range, when `keys` is empty
  std::string text;            // maintain: the command; until: the mark
  uint64_t limit = 0;          // fill, until: most inserts
  int64_t by = 1;              // increment: the difference
  uint32_t value_size = 0;     // insert, update: bytes of each value; 0: as the scenario draws them
  Mix mix;
  std::vector<Step> any;  // for a thread: a choice of alternatives, of one operation each
};

struct Phase {
  std::string name;
  bool explore = true;
  std::string cut_at;  // a mark, or empty
  std::vector<Step> steps;
  // The operations of each thread, which run at the same time. `steps` is empty then. A thread has no fill, until or
  // mix.
  std::vector<std::vector<Step>> threads;
  bool alike = false;  // clients that differ by the order of the threads are the same
};

// The schedules of its threads that a plan asks for.
struct Search {
  std::string kind = "bounded";         // a name that SCHEMA.md lists
  std::optional<uint32_t> preemptions;  // bounded: none is every schedule
  uint64_t schedules = 0;               // random, pct: how many; else the most, and 0 is no limit
  std::string visibility = "sc";        // of what a thread stores to others: "tso" has store buffers
  std::string model = "adr";            // of persistency: it says where a power cut matters
  bool slow = false;                    // without the savings that replayer/SCHEDULES.md argues for, to compare with
};

struct Scenario {
  std::string name;
  uint64_t pool_size = 0;  // bytes; a multiple of 4096
  DataSizes data;
  std::vector<std::string> expect_marks;
  std::vector<Phase> phases;
  bool has_threads() const;
  bool has_choice() const;  // some thread does
};

struct Plan {
  TargetSpec target;
  Scenario scenario;
  Search search;
  uint64_t seed = 0;
  Json json;  // the plan as it was given, which becomes the trace's metadata
};

// `where` names the source in messages.
Result<Plan> parse_plan(const std::string& text, const std::string& where);
Result<Plan> read_plan(const std::string& path);
// The plan in a trace's metadata.
Result<Plan> plan_of_trace(const std::string& metadata, const std::string& trace);

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_PLAN_H_
