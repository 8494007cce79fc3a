// Stale contents: the recorded operations on a pool that held noise before format, compared with the same on zeroes.
//
// Only a byte that is loaded before anything has stored to it can make a difference. Which lines have such bytes is
// followed while the operations run, and each of these lines is then the only one with noise.
#ifndef POWERCUT_CHECKER_FAULTS_FAULT_STALE_H_
#define POWERCUT_CHECKER_FAULTS_FAULT_STALE_H_

#include <map>
#include <string>
#include <vector>

#include "checker/faults/damage/device_cells.h"
#include "checker/faults/fault_replay.h"
#include "checker/faults/unwritten_loads.h"
#include "checker/oracle/oracle.h"

namespace powercut {

class StaleFaults {
 public:
  // All arguments outlive this.
  StaleFaults(const LoadedTrace& loaded, const FaultOptions& options, FaultReport* report, Progress* progress);
  std::optional<EngineError> run();

 private:
  // One answer: of an operation, of recovery after it, or of a query after that.
  struct Entry {
    std::string operation, query, answer, shown;
    uint64_t index = 0;  // of the operation
    FaultAnswer weighed;
    bool operator==(const Entry& other) const { return answer == other.answer; }
  };
  using Unwritten = std::map<uint64_t, UnwrittenLoads::First>;
  struct Ran {
    std::vector<Entry> entries;
    Unwritten unwritten;
  };
  // Fills `lines` (all where empty) with noise and runs everything; stops at the first entry that is not that of
  // `zeroes`, where given. The pool is zero again afterwards.
  Ran attempt(std::span<const uint64_t> lines, std::optional<uint64_t> noise, const std::vector<Entry>* zeroes);
  void recover(const History& history, Oracle* oracle, UnwrittenLoads* loads, std::vector<Entry>* out);
  void judge_line(uint64_t line, const std::vector<Entry>& zeroes);
  FaultAnswer weigh(const std::string& subject, const Entry& zero, const Entry& noise) const;

  const LoadedTrace& loaded_;
  const FaultOptions& options_;
  FaultReport* report_;
  Progress* progress_;
  Executor executor_;
  std::optional<DeviceCells> cells_;  // of a device
  ResultBuffer buffer_;
  std::vector<RecordedOperation> operations_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_FAULT_STALE_H_
