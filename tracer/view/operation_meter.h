// Measures single operations of a trace: the worst operation, and the place where it went too far. Claims such as
// `insert.fences <= 2` (checker/CLAIMS.md) are judged from these measures.
//
// Sums over a run hide the one insert that takes a third fence. Every operation is therefore measured by itself. A
// result names the operation that is furthest from the claim, and the event that took it beyond the claim. The source
// line of this event is the line to look at.
//
// Known inaccuracies: `items` counts keys that an acknowledged insert or a lookup showed. If a scenario's power cut
// ended an operation, its effect is not known until its key is looked up. Operations that were cut are not measured,
// since they did not do all they do. A mark has no place, and is told with the last store before it.
#ifndef POWERCUT_TRACER_VIEW_OPERATION_METER_H_
#define POWERCUT_TRACER_VIEW_OPERATION_METER_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/event_stream.h"
#include "tracer/format/reader.h"

namespace powercut {

// The counted properties of an operation.
struct Quantity {
  enum class Metric : uint8_t {
    kStores,  // selected ones, where there is a selector
    kNtStores,
    kStoreBytes,  // sum of their sizes
    kWidest,      // size of the widest of them
    kFlushes,
    kFences,
    kSfences,    // of these, sfence and mfence: without locked instructions and locks
    kLines,      // distinct 64-byte lines stored to
    kBlocks,     // distinct 256-byte blocks stored to
    kLinesRead,  // given to the meter: a trace holds no loads
    kMarks,      // how often the selector's marks were reached
    kItems,      // in the table when the operation began
  };
  Metric metric{};
  std::string operation;  // kind; empty: of every kind
  std::string command;    // of a `maintain`: a glob; empty: any
  int selector = -1;      // index of the selector, or none
};

// The stores and the marks that a quantity counts.
struct Selector {
  absl::flat_hash_set<std::pair<uint32_t, uint64_t>> frames;  // (module, offset): a frame of a store's stack
  std::vector<std::string> marks;                             // globs
};

struct Measure {
  enum class Comparison : uint8_t { kAtMost, kBelow, kEqual, kAtLeast, kAbove };
  uint64_t id = 0;
  bool mean = false;  // the average over the operations, not each of them
  Quantity quantity;
  std::optional<Quantity> per;
  Comparison comparison{};
  double number = 0;
  std::vector<std::string> when, unless;  // globs: operations that reach such a mark, or operations that reach none
};

// Globs and numbers as `powercut-engine measure --request` reads them (reports/EVENTS.md).
struct MeasureRequest {
  std::vector<Selector> selectors;
  std::vector<Measure> measures;
};
Result<MeasureRequest> parse_measure_request(const std::string& path);

class OperationMeter {
 public:
  using Stack = std::function<std::span<const Frame>(uint32_t)>;
  // `explored`: whether the events before the first phase are explored. `lines_read`: the count of each operation, by
  // its index; null if nobody counted. All arguments outlive the meter.
  OperationMeter(const MeasureRequest& request, bool explored, const std::vector<uint32_t>* lines_read, Stack stack);

  void add(const Event& event);
  // Returns a `measured` event for each measure, in the order of the measures.
  std::vector<Json> results() const;

 private:
  // A number that grows within an operation, and the event that took the number beyond the claim.
  struct Count {
    double value = 0;
    absl::flat_hash_set<uint64_t> units;
    uint64_t event = 0;  // the last one counted; the first beyond the claim, when there is one
    uint32_t stack = 0;
    bool counted = false, beyond = false;
  };
  struct Told {
    uint64_t index = 0;
    std::string kind, command, key;
    bool has_key = false;
  };
  struct Running {
    Told operation;
    std::string key;  // its bytes
    double items = 0;
    uint32_t last_store = 0;  // its stack
    std::vector<std::string> marks;
    std::vector<std::pair<size_t, Count>> counts, pers;  // of the measures that it concerns
  };
  struct Tally {
    uint64_t operations = 0, per_operations = 0;
    double sum = 0, per_sum = 0;
    std::optional<double> worst;  // of `each`: its value; of a mean: the largest
    double distance = 0;
    Told operation;
    Count count;
  };

  void begin(const Event& event);
  void end(const Event& event);
  void count(const Event& event);
  void add_to(Count* count, const Quantity& quantity, const Measure& measure, const Event& event,
              uint32_t last_store) const;
  void close(size_t measure, const Running& running, const Count* count, const Count* per);
  bool selects(const Quantity& quantity, const Event& event) const;
  bool concerns(const Quantity& quantity, const Told& operation) const;
  double value_of(const Quantity& quantity, const Running& running, const Count& count) const;

  const MeasureRequest& request_;
  const std::vector<uint32_t>* lines_read_;
  Stack stack_of_;
  bool explored_;
  uint64_t operations_ = 0;
  absl::flat_hash_set<std::string> live_;           // keys in the table
  absl::flat_hash_map<uint32_t, Running> running_;  // by thread
  std::vector<Tally> tallies_;
  mutable std::vector<absl::flat_hash_map<uint32_t, bool>> selected_;  // by selector: stack -> whether it is meant
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_VIEW_OPERATION_METER_H_
