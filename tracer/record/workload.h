// A scenario as a stream of operations, made on the fly. The next operation depends on the table's answers: a fill ends
// when the table is FULL, and a mix draws among the live keys.
//
// The caller takes an operation from next(), runs it, and reports its end by completed() or interrupted(). The caller
// reports every mark that is reached by mark().
#ifndef POWERCUT_TRACER_RECORD_WORKLOAD_H_
#define POWERCUT_TRACER_RECORD_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "powercut/target.h"
#include "tracer/format/trace.h"
#include "tracer/record/live_keys.h"
#include "tracer/record/plan.h"
#include "tracer/record/random.h"

namespace powercut {

struct Operation {
  OpKind kind{};               // kInsert, kUpdate, kErase, kLookup or kMaintain
  uint64_t key = 0;            // id (key_bytes.h); 0 for kMaintain
  uint64_t serial = 0;         // of the value, for kInsert and kUpdate
  std::string_view text = {};  // command of kMaintain
  int64_t delta = 0;           // of kIncrement
  uint32_t value_size = 0;     // of the value, in bytes; 0: as the scenario draws it
};

// Returns "insert of key 17" or "insert of key zeros", for messages.
std::string describe(const Operation& operation);
// Writes the description into `out`. Each operation is described before it runs, so the memory of `out` is used again.
void describe(const Operation& operation, std::string* out);

class Workload {
 public:
  struct Item {
    const Phase* phase = nullptr;        // a phase begins here, or ...
    std::optional<Operation> operation;  // ... this is to be run; neither: the workload is over
  };

  // `scenario` outlives the workload. `checks_exists`: a scenario may insert a present key, since the target answers
  // EXISTS.
  Workload(const Scenario& scenario, uint64_t seed, bool checks_exists);

  // Precondition: the end of the operation before was reported.
  Result<Item> next();
  // The operation from next() ended with `status`. Returns an error if the scenario does not fit the target.
  std::optional<EngineError> completed(powercut_status status);
  // The power was cut within the operation: its step is over. `present`: the table still or already has the
  // operation's key (ignored for kMaintain).
  void interrupted(bool present);
  void mark(std::string_view name);

  const LiveKeys& live() const { return live_; }
  // Where in the scenario the workload stands, for messages: "scenario x, phase 'y', step 2".
  const std::string& place() const { return place_; }

 private:
  const Phase& phase() const { return scenario_.phases[phase_]; }
  const Step& step() const { return phase().steps[step_]; }
  void next_step();
  void moved();  // phase_ or step_ changed
  EngineError misfit(const std::string& what) const;
  // Returns the error of a correct scenario for a target that lacks `need`.
  EngineError lacks(const std::string& what, std::string need) const;
  EngineError too_large(const Operation& operation) const;
  void answered(const Operation& operation);
  // "its key has 16 bytes, its value 4096".
  std::string sizes_of(const Operation& operation) const;
  // Whether an operation of this kind has got another answer than UNSUPPORTED.
  bool supports(const Operation& operation) const;

  // Returns the next operation of the current step; nothing if the step is over.
  Result<std::optional<Operation>> advance();
  Result<std::optional<Operation>> key_operation();
  Result<std::optional<Operation>> mix_operation();
  Result<std::optional<Operation>> fresh_insert();
  Operation write(OpKind kind, uint64_t key);
  Operation increment(uint64_t key, int64_t delta);

  const Scenario& scenario_;
  const bool checks_exists_;
  Random random_;
  LiveKeys live_;
  uint64_t last_key_ = 0;     // the largest key id used, "zeros" and "ones" aside
  uint64_t last_serial_ = 0;  // every write takes the next one

  size_t phase_ = 0, step_ = 0;
  bool announced_ = false;  // the current phase was handed out
  uint64_t done_ = 0;       // operations of the current step
  bool ended_ = false;      // the current step is over: FULL, or its mark was reached
  uint64_t rmw_key_ = 0;    // the second half of a read-modify-write is due on this key
  std::optional<Operation> running_;
  uint32_t kinds_answered_ = 0;                           // bits by OpKind
  std::set<std::string, std::less<>> commands_answered_;  // of maintain
  std::string place_;
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_RECORD_WORKLOAD_H_
