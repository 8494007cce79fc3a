// Output equivalence: what the dump and the probes may print after a power cut. The state after a prefix of the marked
// history is known by what they print: all commands are run on the visible image at the end of every operation, with no
// other in flight. At a crash point inside operation k the legal outputs are those after k - 1 and after k, outside of
// one that after the last.
//
// Before the first operation begins nothing is promised: there only exit status counts. In a tree of schedules each
// schedule has its own prefixes (operations.h); an operation that is alone in flight may come to what it comes to in
// any schedule that goes on from there and lets it end before another begins.
//
// Where operations of several threads overlap, or did, what they print in each order that explains them is legal
// (serial_orders.h): the tree has schedules in which they run one after the other. Where it lacks one of these, or no
// order explains the answers, only exit status counts, and the crash point is not judged.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_EXPECTED_OUTPUTS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_EXPECTED_OUTPUTS_H_

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "checker/subjects/program/outputs/operations.h"
#include "checker/subjects/program/workers/image_worker.h"
#include "tracer/format/reader.h"

namespace powercut {

class ExpectedOutputs {
 public:
  // Runs the commands on the visible image that it is given, as lines that changed since the last call.
  using Observe = std::function<Result<ProgramOutcome>(const std::vector<std::pair<uint64_t, Content>>&)>;

  // Reads the whole trace from the reader's first event. `space`: size of the offset space. Of a schedule alone: `tree`
  // is what it was taken from.
  static Result<ExpectedOutputs> take(TraceReader* reader, uint64_t space, const Observe& observe,
                                      const ExpectedOutputs* tree = nullptr);
  // Of a tree: what operations come to one after the other, and nothing else.
  static Result<ExpectedOutputs> take_orders(TraceReader* reader, uint64_t space, const Observe& observe);

  // The legal outputs at an instant; nothing when only exit status counts.
  std::vector<const ProgramOutcome*> legal(const Operations& operations) const;
  // Where an output up to number `at` is not legal: lookups that had ended, without whose answers it would be.
  std::vector<std::string> reads_of_lost(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                         bool ordered) const;
  // ... or operations that had ended, without which it is what some of the others come to.
  std::vector<std::string> lost(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                bool ordered) const;
  // The earlier prefix than the legal ones that has printed what this outcome has, up to the output `at`, as the number
  // of the operation after which it was right (0: before the first).
  std::optional<uint64_t> earlier(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                  bool ordered) const;
  // Whether the same step fails in the same way with everything durable at the end of the operation that runs, or did
  // at that of the one before it.
  bool fails_at_the_end(const Operations& operations, const ProgramOutcome& outcome) const;
  bool failed_before(const Operations& operations, const ProgramOutcome& outcome) const;
  uint64_t observed() const { return after_.size(); }
  // Whether operations have overlapped, and it is known what they come to one after the other.
  bool has_orders_of(const Operations& operations) const {
    return operations.history() != nullptr && !operations.serial() && !orders_.empty();
  }

 private:
  using Outcomes = std::vector<std::shared_ptr<const ProgramOutcome>>;

  static Result<ExpectedOutputs> take(ExpectedOutputs out, TraceReader* reader, uint64_t space, const Observe& observe,
                                      bool orders_alone);
  bool failed_after(uint64_t prefix, const ProgramOutcome& outcome) const;
  std::vector<const ProgramOutcome*> in_some_order(const Operations& operations,
                                                   const SerialOrders::Which& any_answer) const;

  // By the prefix, and by that of the operation that ended last: 0 is the state when the first one began. Of an outcome
  // that fails, what was printed before counts.
  std::map<uint64_t, Outcomes> after_;
  std::map<uint64_t, Outcomes> failed_;  // there, with nothing lost
  SerialOrders orders_;
  std::map<SerialOrders::Node, Outcomes> in_order_;
  // By the name of the history. One thread asks.
  mutable std::map<uint64_t, std::vector<const ProgramOutcome*>> known_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_EXPECTED_OUTPUTS_H_
