// One run of the recorded operations in which one allocation fails, judged while it lives: the operation that meets
// the failure answers an error or does without, and whatever is asked afterwards has a right answer.
#ifndef POWERCUT_CHECKER_FAULTS_ALLOCATION_ATTEMPT_H_
#define POWERCUT_CHECKER_FAULTS_ALLOCATION_ATTEMPT_H_

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "checker/faults/fault_replay.h"
#include "tracer/format/writer.h"
#include "tracer/record/recorder_tap.h"

namespace powercut {

class AllocationAttempt {
 public:
  struct Failure {
    uint64_t allocation = 0;  // its number, from 1
    size_t operation = 0;     // that makes it
  };

  // Answers that are wrong without any fault: the run without a failure collects them, the others leave them out.
  using Excused = std::set<std::string>;

  // All arguments outlive this object. `writer` and its `recorder` are null, or hear the run.
  AllocationAttempt(const LoadedTrace& loaded, Executor* executor, FaultReport* report, Progress* progress,
                    std::optional<Failure> failure, Excused* excused, TraceWriter* writer, Recorder* recorder);
  ~AllocationAttempt();
  AllocationAttempt(const AllocationAttempt&) = delete;
  AllocationAttempt& operator=(const AllocationAttempt&) = delete;

  // Runs on the pool as it is; the caller takes the changes back. Returns for each allocation the operation in which it
  // was made.
  std::vector<size_t> run(std::span<const RecordedOperation> operations);

  const FaultAnswer& worst() const { return worst_; }
  // "allocation 2, of 64 bytes of the pool, in insert of key 1"
  std::string subject() const;

 private:
  void step(const RecordedOperation& operation);
  void append(EventKind kind, uint8_t code, const RecordedOperation* operation, const std::string& value,
              const std::string& text);
  bool present(const std::string& key) const;
  void judge(const RecordedOperation& operation, const FaultReplay::Done& done, bool was_present, bool fails_here);
  void judge_lookup(const RecordedOperation& operation, const FaultReplay::Done& done);
  void ask_everything();
  void note(const FaultAnswer& answer);
  void wrong(const Violation& violation, const std::string& query);
  void died(const Outcome& outcome);
  void add(const Violation& violation, const std::string& query);

  const LoadedTrace& loaded_;
  Executor* executor_;
  FaultReport* report_;
  Progress* progress_;
  const std::optional<Failure> failure_;
  Excused* excused_;
  TraceWriter* writer_;
  // Listeners are taken away in the opposite order of their making: this one stays behind the next.
  std::unique_ptr<RecorderTap> tap_;
  FaultReplay replay_;
  History history_;
  ResultBuffer buffer_;
  FaultAnswer worst_;
  std::string failed_in_;
  bool going_ = true;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_ALLOCATION_ATTEMPT_H_
