// Media errors and bit flips: one damaged place in the image that the run leaves after an operation.
//
// Read-driven. What recovery and the queries load on the undamaged image is known from running them once. Target
// code is deterministic, so an execution on a damaged image is the undamaged one up to its first load of a
// damaged byte; what nothing loads is harmless without being run. For the same reason a query is run only where
// something that it loads differs from what it loaded on the undamaged image.
#ifndef POWERCUT_CHECKER_FAULTS_FAULT_IMAGES_H_
#define POWERCUT_CHECKER_FAULTS_FAULT_IMAGES_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/supervisor.h"
#include "checker/faults/fault.h"
#include "checker/faults/media_error.h"
#include "checker/oracle/oracle.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

class ImageFaults {
 public:
  // All arguments outlive this. `points`: how many operation ends the trace's explored phases have.
  ImageFaults(const LoadedTrace& loaded, const FaultOptions& options, uint64_t points,
              std::unique_ptr<TraceReader> reader, FaultReport* report, Progress* progress);

  // Walks the trace. An error: it cannot be read.
  std::optional<EngineError> run();

  // The operation ends that run() would stop at.
  static Result<uint64_t> count_points(const LoadedTrace& loaded);

 private:
  // A query on the undamaged image: its answer, and what it loaded.
  struct Known {
    QueryId query = 0;
    struct Bytes {
      uint64_t line, mask;
      Content content;
    };
    std::vector<Bytes> lines;
    struct Word {
      uint64_t address, bits, value;
    };
    std::vector<Word> heap;
  };
  struct Case {
    uint64_t line = 0, mask = 0;  // damaged bytes of a line (for a block: of its first line that is read)
    unsigned bit = 0;             // bit flips: in the byte
  };

  void visit();
  bool learn();  // runs everything once; false when the image is bad without any fault
  std::vector<Case> cases() const;
  void flip(const Case& damage);
  void poison(const Case& damage);
  // Runs recovery and the queries that can tell; adds the case.
  void judge(const std::string& subject, uint64_t offset, bool recovery_reads,
             const std::function<bool(const Known&)>& reads);
  bool differs(const Known& known) const;
  bool is_finding(const FaultAnswer& answer, uint64_t survived) const;
  uint64_t read_by_all(uint64_t line) const;

  const LoadedTrace& loaded_;
  const FaultOptions& options_;
  const uint64_t points_;
  Executor executor_;
  MediaError media_;
  TraceFollower follower_;
  Oracle oracle_;
  FaultReport* report_;
  Progress* progress_;

  ResultBuffer buffer_;
  std::set<uint64_t> written_;  // lines that the trace has stored to
  uint64_t passed_ = 0;         // points of the walk so far
  // Of the point at hand.
  std::vector<Known> known_;
  std::set<QueryId> wrong_;                               // wrong without any fault: not asked
  std::map<uint64_t, uint64_t> read_by_recovery_, read_;  // line -> bytes; read_ is by anything
  Subject::Opened opened_;
  Signature globals_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_FAULT_IMAGES_H_
