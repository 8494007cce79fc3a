// Damaged images: one case of one kind of damage (damage/) in one image of a recorded run.
//
// Read-driven. One run on the undamaged image shows which bytes recovery and the queries load. Target code is
// deterministic, so an execution on a damaged image is the undamaged one up to its first load of a damaged byte. A byte
// that nothing loads is harmless without being run. For the same reason a query is run only where its loads differ from
// those on the undamaged image. A sector is loaded by the word that names it, and its bytes are those of that name.
#ifndef POWERCUT_CHECKER_FAULTS_FAULT_IMAGES_H_
#define POWERCUT_CHECKER_FAULTS_FAULT_IMAGES_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/supervisor.h"
#include "checker/faults/damage/damage.h"
#include "checker/faults/media_error.h"
#include "checker/oracle/oracle.h"
#include "checker/trace/trace_follower.h"

namespace powercut {

class ImageFaults {
 public:
  // All arguments outlive this. `points`: how many images the trace's explored phases have.
  ImageFaults(const LoadedTrace& loaded, const FaultOptions& options, uint64_t points,
              std::unique_ptr<TraceReader> reader, FaultReport* report, Progress* progress);

  // Walks the trace. An error: it cannot be read.
  std::optional<EngineError> run();

  // For tests: hears of every case that was run, with the damaged pool.
  using Heard = std::function<void(std::span<const uint8_t> pool, FaultEffect effect)>;
  void hear(Heard heard) { heard_ = std::move(heard); }

  // The images that run() would look at.
  static Result<uint64_t> count_points(const LoadedTrace& loaded, FaultKind kind);

 private:
  // A query on the undamaged image: its answer and its loads.
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
  // Damaged bytes of a line.
  struct Damaged {
    uint64_t line, mask;
  };

  // `visible`: with all that was written, or with what is certain to be there alone.
  void visit(bool visible);
  bool learn();  // runs everything once; false when the image is bad without any fault
  void inflict(const Damage& damage);
  // Runs recovery and the queries that can tell; adds the case.
  void judge(const Damage& damage, std::span<const Damaged> damaged);
  bool differs(const Known& known) const;
  bool is_finding() const;

  const LoadedTrace& loaded_;
  const FaultOptions& options_;
  const uint64_t points_;
  Executor executor_;
  MediaError media_;
  TraceFollower follower_;
  Oracle oracle_;
  FaultReport* report_;
  Progress* progress_;

  Heard heard_;
  ResultBuffer buffer_;
  std::unique_ptr<Damages> damages_;
  uint64_t passed_ = 0;  // images of the walk so far
  // Of the point at hand.
  std::vector<Known> known_;
  std::set<QueryId> wrong_;                               // wrong without any fault: not asked
  std::map<uint64_t, uint64_t> read_by_recovery_, read_;  // line -> bytes; read_ is by anything
  Subject::Opened opened_;
  Signature globals_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_FAULT_IMAGES_H_
