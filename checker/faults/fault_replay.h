// A recorded run again, live, under the executor: the same operations in the same order, but with a fault that the
// recording did not have. Only what was asked is taken from the trace; what the target does now is its own.
//
// A cut of the scenario is made at the same mark as in the recording; where the operation does not reach it any
// more, it completes.
#ifndef POWERCUT_CHECKER_FAULTS_FAULT_REPLAY_H_
#define POWERCUT_CHECKER_FAULTS_FAULT_REPLAY_H_

#include <setjmp.h>

#include <functional>
#include <string>
#include <vector>

#include "base/supervisor.h"
#include "checker/faults/fault.h"
#include "tracer/world/sink_in_front.h"

namespace powercut {

struct RecordedOperation {
  OpKind kind{};
  std::string key, value, text;
  uint64_t marks_to_cut = 0;  // > 0: the power was cut at this mark of the operation
};
// The operations of a trace.
Result<std::vector<RecordedOperation>> operations_of(const LoadedTrace& loaded);

class FaultReplay final : public SinkInFront {
 public:
  // The result of one call.
  struct Done {
    Outcome outcome;
    powercut_status status = POWERCUT_OK;
    bool cut = false;
    std::string value;  // of a lookup
  };

  // `executor` was made before. Only listeners that were put there earlier stand in front of it.
  FaultReplay(const LoadedTrace& loaded, Executor* executor);

  // Runs one operation on the pool as it is. Open and format make and need no table; all others need one.
  Done run(const RecordedOperation& operation);
  bool has_table() const { return table_ != nullptr; }
  powercut_table* table() const { return table_; }

 protected:
  void on_mark(const char* name) override;

 private:
  powercut_status call(const RecordedOperation& operation);

  const LoadedTrace& loaded_;
  const powercut_target& target_;
  Executor* executor_;
  powercut_table* table_ = nullptr;
  std::vector<uint8_t> value_;
  size_t value_size_ = 0;
  uint64_t marks_left_ = 0;
  sigjmp_buf leave_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_FAULT_REPLAY_H_
