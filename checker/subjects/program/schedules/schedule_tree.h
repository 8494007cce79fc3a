// Runs of one program by different schedules, as one trace: a tree of schedules (tracer/format/FORMAT.md).
//
// What they have in common up to the creation of the first thread stands before the fork. A run is added up to its last
// crash point that is new: one before each event that raises a floor, and before the begin and end of each marked
// operation, that leaves a frontier which no run has left before. All instants of the schedule in between leave no more
// (replayer/MODELS.md); other than in a search over states, no thread is led on beyond what the schedule lets it do.
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

  // A run's trace at its begin.
  RunEvents read(TraceReader* reader);
  // The first run.
  void begin(const RunEvents& run, uint32_t threads);
  // False: the run has not the same beginning as the first one.
  bool add(const RunEvents& run);
  // A run in which the marked operations came one after the other, whole, without a crash point: it tells what they
  // come to (checker/subjects/program/outputs/serial_orders.h). The same.
  bool add_order(const RunEvents& run);
  // Histories in which operations overlap, of crash points.
  const std::map<uint64_t, MarkedHistory>& overlapping() const { return overlapping_; }
  const SerialOrders& orders() const { return orders_; }
  bool begun() const { return root_.has_value(); }
  // What went wrong at the end of the run that was added last, unless it is known.
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
  // The trace comes to stand behind the first `count` events of `run`.
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
  uint64_t memory_ = 0;  // digest of what stores have changed since the fork
  // What an image is judged by: the marked operations so far, and what the pools held when none was running.
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
