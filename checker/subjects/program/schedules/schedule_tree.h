// Runs of one program by different schedules, as one trace: a tree of schedules (tracer/format/FORMAT.md).
//
// The events that the runs share, up to the creation of the first thread, stand before the fork. A crash point stands
// before each event that raises a floor, and before the begin and end of each marked operation. A crash point is new if
// it leaves a frontier which no run has left before. A run is added up to its last new crash point. All instants of the
// schedule in between leave no more (replayer/MODELS.md). Unlike a search over states, no thread is led on beyond its
// part in the schedule.
#ifndef POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SCHEDULE_TREE_H_
#define POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SCHEDULE_TREE_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "checker/subjects/program/outputs/operations.h"
#include "replayer/schedules/line_states.h"
#include "tracer/format/kept_event.h"
#include "tracer/format/reader.h"
#include "tracer/format/writer.h"

namespace powercut {

// The events of a run, whose stacks have numbers that are the same in all runs.
struct RunEvents {
  std::vector<KeptEvent> before;  // the first thread was created
  std::vector<KeptEvent> after;
};

class ScheduleTree {
 public:
  // `space`: of the pools. `model`: adr or eadr.
  static Result<std::unique_ptr<ScheduleTree>> create(const std::string& path, const std::string& metadata,
                                                      uint64_t space, const std::string& model);
  ~ScheduleTree();

  // Reads the events of a run. `reader` stands at the begin of the run's trace.
  RunEvents read(TraceReader* reader);
  // Begins the tree with the first run.
  void begin(const RunEvents& run, uint32_t threads);
  // Adds a run. False: the run does not begin like the first run.
  bool add(const RunEvents& run);
  // Adds a run in which the marked operations came one after the other, whole, without a crash point: its outputs are
  // the result of that order (checker/subjects/program/outputs/serial_orders.h). Returns as add() does.
  bool add_order(const RunEvents& run);
  // Histories of crash points in which operations overlap.
  const std::map<uint64_t, MarkedHistory>& overlapping() const { return overlapping_; }
  const SerialOrders& orders() const { return orders_; }
  bool begun() const { return root_.has_value(); }
  // Adds the trouble at the end of the run that was added last, unless the trouble is known.
  void add_trouble(Trouble kind, const std::string& text);
  std::optional<TraceError> finish(const std::string& searched);

  uint64_t cuts() const { return cuts_; }
  uint64_t frontiers() const { return frontiers_.size(); }
  uint64_t steps() const { return steps_; }
  size_t operations() const { return operations_; }
  size_t troubles() const { return troubles_.size(); }

 private:
  using Stack = std::vector<std::pair<std::string, uint64_t>>;  // path and offset of each frame

  ScheduleTree(uint64_t space, const std::string& model);
  uint32_t stack_of(const TraceReader& reader, uint32_t id);
  void append(const Event& event);
  void store(const Event& event);
  // Leads the trace to the place behind the first `count` events of `run`.
  void lead_to(const std::vector<KeptEvent>& run, size_t count);
  uint64_t frontier() const;
  bool raises(const Event& event) const;

  std::unique_ptr<TraceWriter> writer_;
  const bool every_store_;
  const uint64_t space_;
  uint8_t* pool_ = nullptr;  // as the program sees it
  std::unique_ptr<Model> model_;
  std::optional<LineStates> root_, lines_;
  uint64_t first_ = 0;  // event behind the fork
  std::vector<std::pair<uint64_t, std::vector<uint8_t>>> journal_;
  uint64_t memory_ = 0;  // digest of the words that stores have changed since the fork
  // An image is judged by these members: the marked operations so far, and the contents of the pools when none was
  // running.
  uint64_t obligations_ = 0, root_obligations_ = 0;
  Operations marked_, root_marked_;
  std::map<Stack, uint32_t> stacks_;
  std::map<std::string, std::string> build_ids_;  // of modules, by path
  std::map<uint32_t, uint32_t> written_stacks_;
  std::vector<Stack> by_number_;
  std::vector<KeptEvent> before_, written_, last_;
  std::set<std::pair<uint64_t, uint64_t>> frontiers_;
  std::set<std::string> troubles_;
  std::map<uint64_t, MarkedHistory> overlapping_;
  SerialOrders orders_;
  uint64_t cuts_ = 0, steps_ = 0;
  size_t operations_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SUBJECTS_PROGRAM_SCHEDULES_SCHEDULE_TREE_H_
