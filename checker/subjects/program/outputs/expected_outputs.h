// Output equivalence: which outputs of the dump and the probes are legal after a power cut. These outputs identify the
// state after a prefix of the marked history. All commands are run on the visible image at the end of every operation,
// with no other operation in flight. At a crash point inside operation k the outputs after k - 1 and after k are legal.
// Outside of any operation, the output after the last operation is.
//
// Before the first operation begins nothing is promised: there only exit status counts. In a tree of schedules each
// schedule has its own prefixes (operations.h). An operation that is alone in flight has several legal results: one
// from each schedule that goes on from there and lets the operation end before another begins.
//
// Where operations of several threads overlap, or did, each order that explains their answers has legal outputs
// (serial_orders.h): the tree has schedules in which the operations run one after the other. Where the tree lacks such
// a schedule, or no order explains the answers, only exit status counts, and the crash point is not judged.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_EXPECTED_OUTPUTS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_EXPECTED_OUTPUTS_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "checker/subjects/program/outputs/operations.h"
#include "checker/subjects/program/workers/image_worker.h"
#include "tracer/format/reader.h"

namespace powercut {

class ExpectedOutputs {
 public:
  // Runs the commands on the visible image, which is given as lines that changed since the last call.
  using Observe = std::function<Result<ProgramOutcome>(const std::vector<std::pair<uint64_t, Content>>&)>;

  // Reads the whole trace from the reader's first event. `space`: size of the offset space. `tree`: for a schedule
  // alone, the outputs of the tree that the schedule was taken from.
  static Result<ExpectedOutputs> take(TraceReader* reader, uint64_t space, const Observe& observe,
                                      const ExpectedOutputs* tree = nullptr);
  // Takes from a tree only the outputs of operations that run one after the other.
  static Result<ExpectedOutputs> take_orders(TraceReader* reader, uint64_t space, const Observe& observe);

  // Adds an outcome that is right behind these prefixes, where nobody takes all of a trace: one with nothing lost.
  void add(const std::set<uint64_t>& prefixes, const std::shared_ptr<const ProgramOutcome>& outcome);

  // Returns the legal outputs at an instant; none when only exit status counts.
  std::vector<const ProgramOutcome*> legal(const Operations& operations) const;
  // Precondition: an output up to number `at` is not legal. Returns lookups that had ended and without whose answers
  // the output would be legal.
  std::vector<std::string> reads_of_lost(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                         bool ordered) const;
  // Precondition as above. Returns operations that had ended and without which the output is a result of the others.
  std::vector<std::string> lost(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                bool ordered) const;
  // Returns a prefix, earlier than the legal ones, that has printed the outputs of this outcome up to the output `at`.
  // The prefix is given as the number of the operation after which these outputs were right (0: before the first).
  std::optional<uint64_t> earlier(const Operations& operations, const ProgramOutcome& outcome, size_t at,
                                  bool ordered) const;
  // Whether the step fails in the same way with everything durable: at the end of the running operation
  // (fails_at_the_end()), or at the end of the operation before (failed_before()).
  bool fails_at_the_end(const Operations& operations, const ProgramOutcome& outcome) const;
  bool failed_before(const Operations& operations, const ProgramOutcome& outcome) const;
  uint64_t observed() const { return after_.size(); }
  // Whether operations have overlapped, and their results one after the other are known.
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

  // Outcomes by prefix: 0 is the state when the first operation began. If an outcome fails, the outputs printed before
  // count.
  std::map<uint64_t, Outcomes> after_;
  std::map<uint64_t, Outcomes> failed_;  // there, with nothing lost
  SerialOrders orders_;
  std::map<SerialOrders::Node, Outcomes> in_order_;
  // Outcomes by the name of the history. Only the thread that judges asks for them.
  mutable std::map<uint64_t, std::vector<const ProgramOutcome*>> known_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_EXPECTED_OUTPUTS_H_
