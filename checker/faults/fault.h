// Faults on top of power cuts (checker/FAULTS.md): the result of a fault, the counts of results, and the results that
// are findings.
#ifndef POWERCUT_CHECKER_FAULTS_FAULT_H_
#define POWERCUT_CHECKER_FAULTS_FAULT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checker/oracle/invariants.h"
#include "checker/trace/loaded_trace.h"
#include "replayer/executor/process_modules.h"

namespace powercut {

enum class FaultKind : uint8_t {
  kMedia,
  kBitFlip,
  kAllocation,
  kStale,
  // Faults of devices: beyond what their model promises (damage/).
  kShorn,
  kUnserialisable,
  kStaleMapping,
  kPairedPage,
  kUnstableRead,
  kStuckBits
};
const char* name_of(FaultKind kind);  // as in the CLI: media, bitflip, alloc, stale, shorn, ...
std::optional<FaultKind> fault_kind(const std::string& name);
std::string fault_names();  // all of them, with commas
// What a kind is a fault of, where a pool of this medium cannot have it: "block devices".
std::optional<std::string> foreign_to(FaultKind kind, uint32_t medium);
// Whether a silent or crashed case is a finding, as far as the target's traits say.
bool is_claimed(FaultKind kind, const powercut_traits& traits);

struct FaultOptions {
  std::string trace;
  FaultKind kind{};
  uint64_t budget = 0;      // executions of recovery; 0: none
  uint64_t seed = 1;        // of noise
  uint64_t noises = 3;      // fills of a fresh pool: all ones, then seeded noise
  int64_t step_budget = 0;  // 0: by the pool's size
  std::string traces;       // folder for the traces of runs with a failing allocation
};

// The result of one case, worst last. A case (a flipped bit, a poisoned block, ...) is as bad as its worst answer.
enum class FaultEffect : uint8_t {
  kHarmless,  // every answer was legal
  kDetected,  // open or an operation answered an error, or the process died of the SIGBUS or of an abort of its own
  kCrashed,   // it died in another way, hung, or stored outside of its own memory
  kSilent,    // an illegal answer, and no error
};
const char* name_of(FaultEffect effect);

// One answer under a fault.
struct FaultAnswer {
  FaultEffect effect = FaultEffect::kHarmless;
  std::string how;      // detected and crashed: "open answers CORRUPT", "lookup died of SIGSEGV"
  Violation violation;  // crashed and silent
};
// "died of SIGSEGV"
std::string ending_of(const Outcome& outcome);
FaultAnswer weigh_recovery(const Outcome& outcome, std::string_view result);
FaultAnswer weigh_query(const History& history, const powercut_traits& traits, QueryId query, const Outcome& outcome,
                        std::string_view result);

struct FaultFinding {
  Violation violation;
  std::string subject;             // "bit 3 of the byte at offset 424"
  std::optional<uint64_t> offset;  // in the pool
  std::string operation;           // the last operation before the fault, or the operation that met the fault
  uint64_t operation_index = 0;    // in the history
  std::string query;               // "lookup(17)"; empty where the operation itself went wrong
  std::vector<uint64_t> stack;     // return addresses: the load, the allocation, or where it died
};

struct FaultTally {
  uint64_t points = 0, points_of = 0;  // images or runs that were looked at, and that there are
  uint64_t cases = 0, cases_of = 0;    // judged, and that there are at the points looked at
  uint64_t not_read = 0;               // cases whose damage nothing reads: not run; harmless
  uint64_t effects[4] = {};            // by FaultEffect; adds up to `cases`
  uint64_t seen_by_verify = 0;         // silent ones that the scheme's own verify reports
  uint64_t executions = 0, query_runs = 0;
  std::map<std::string, uint64_t> how;                 // detected and crashed cases
  std::map<std::string, uint64_t> invariants;          // silent and crashed cases
  uint64_t images_left_out = 0, answers_left_out = 0;  // wrong without any fault
  std::vector<std::string> notes;

  bool complete() const { return points == points_of && cases == cases_of; }
};

// Collects the output of a command: each distinct finding once, with the number of times.
class FaultReport {
 public:
  FaultReport(const LoadedTrace& loaded, const FaultOptions& options) : loaded_(loaded), options_(options) {}

  FaultTally tally;

  // Adds one case; `answers` are those of recovery and queries, in order.
  void add_case(const FaultAnswer& worst, bool seen_by_verify);
  // Takes a case that is no finding: keeps the first that is silent, and the first that crashed, as a note each.
  void add_example(const FaultFinding& example, FaultEffect effect);
  void add_finding(FaultFinding finding);
  size_t findings() const { return findings_.size(); }

  // `modules` and then every `fault_finding`, then the `fault_result`.
  std::vector<Json> events(double seconds);

 private:
  struct Known {
    FaultFinding finding;
    uint64_t count = 0;
  };
  const LoadedTrace& loaded_;
  const FaultOptions& options_;
  std::map<std::string, Known> findings_;  // by what makes two of them the same
  std::vector<std::string> order_;
  bool has_example_[4] = {};  // by FaultEffect
};

// "after update of key 17"
std::string describe_operation(const History& history);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_FAULT_H_
