// The marked operations of a program trace (powercut/mark.h), of all its threads, up to an instant.
//
// A *prefix* names the result of operations when none of them is in flight. Outside of a tree of schedules the prefix
// is their number. In a tree it is a digest of everything that the operations and their threads have done: equal
// operations may have another result in another schedule.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_OPERATIONS_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_OPERATIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checker/subjects/program/outputs/serial_orders.h"
#include "tracer/format/trace.h"

namespace powercut {

struct MarkedOperation {
  uint64_t index = 0;  // by beginning
  OpKind kind{};
  std::string key;  // bytes
  std::string text;
  uint32_t thread = 0;
  // Names the operation's result if it ends before another operation begins: its prefix, or in a tree all its possible
  // prefixes.
  uint64_t prefix = 0;
};

class Operations {
 public:
  void apply(const Event& event);

  uint64_t begun() const { return begun_; }
  // Operations in flight, in the order in which they began.
  const std::vector<MarkedOperation>& in_flight() const { return in_flight_; }
  // The operation in flight that began last, else the operation that ended last.
  const std::optional<MarkedOperation>& current() const { return current_; }
  // The last operation, since a power cut of the scenario, whose end left none in flight.
  std::optional<uint64_t> settled_by() const { return settled_by_; }
  // The prefix after the operation of settled_by(); 0 before the first operation.
  uint64_t prefix() const { return settled_.empty() ? 0 : settled_.back().prefix; }
  struct Settled {
    uint64_t prefix, operations;  // `operations`: the number of the last operation, from 1
  };
  // All ends so far that left no operation in flight.
  const std::vector<Settled>& settled() const { return settled_; }
  // Number of operations that began since none was in flight the last time.
  uint64_t begun_since_settled() const { return begun_since_settled_; }
  // True if a power cut of the scenario took the end of an operation, and none has ended since: the state is not known.
  bool unsettled() const { return unsettled_; }
  // In a tree of schedules, or in one of its schedules: the operations since the fork, in the order in which they
  // began. Null: there is no tree, or the operations have no orders. They have none in three cases: one was in flight
  // at the fork; a thread has begun one within another; a power cut of the scenario has ended one.
  const MarkedHistory* history() const { return forked_ && ordered_ ? &history_ : nullptr; }
  // Names the history: two histories that differ have different names.
  uint64_t history_name() const { return history_name_; }
  // Whether each operation of history() began when no other one was in flight.
  bool serial() const { return serial_; }

 private:
  void note_begin(const Event& event);
  void note_end(const Event& event);

  std::vector<MarkedOperation> in_flight_;
  std::optional<MarkedOperation> current_;
  std::optional<uint64_t> settled_by_;
  uint64_t begun_ = 0, begun_since_settled_ = 0;
  bool unsettled_ = false;
  std::vector<Settled> settled_;
  MarkedHistory history_;
  uint64_t history_name_ = 0, instants_ = 0;
  bool forked_ = false, ordered_ = true, serial_ = true;
  // In a tree of schedules: the state that a new schedule goes back to, and a digest of the schedule up to here.
  std::shared_ptr<const Operations> root_;
  uint64_t path_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_OUTPUTS_OPERATIONS_H_
