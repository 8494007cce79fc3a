// The walk (replayer/crash_points/crash_points.h) over a trace with all that is known of the instant at hand: history,
// legal contents of every pending line, the definite bytes in the pool of crash images, and the recent past of each
// line.
//
// It holds no process state but the pool (replayer/executor/executor.h, map_pool()): a forked child goes on from the
// instant at which it was forked, and neither disturbs the other.
#ifndef POWERCUT_CHECKER_TRACE_TRACE_FOLLOWER_H_
#define POWERCUT_CHECKER_TRACE_TRACE_FOLLOWER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checker/oracle/history.h"
#include "checker/trace/loaded_trace.h"
#include "replayer/crash_points/crash_points.h"
#include "replayer/crash_points/frontier.h"
#include "replayer/crash_points/line_timeline.h"
#include "replayer/media/medium.h"
#include "tracer/format/trace_names.h"

namespace powercut {

struct Instant : CrashPoint {
  std::string when;  // "before sfence", "after insert"
};

class TraceFollower {
 public:
  // `reader` stands at the first event. `pool`: where the crash images are made, zeroed; null to count them only.
  TraceFollower(const LoadedTrace& loaded, std::string_view model, AtomPolicy policy,
                std::unique_ptr<TraceReader> reader, uint8_t* pool)
      : TraceFollower(loaded.plan.scenario.pool_size, loaded.explored_at_start(), model, policy, std::move(reader),
                      pool, Promise::of(loaded.traits)) {}
  // Without a loaded trace: a pool of `pool_size` bytes, explored from the start or from a phase on.
  TraceFollower(uint64_t pool_size, bool explored, std::string_view model, AtomPolicy policy,
                std::unique_ptr<TraceReader> reader, uint8_t* pool, Promise promise = {})
      : reader_(std::move(reader)),
        model_(make_model(model, policy, pool_size)),
        crash_points_(model_.get(), explored),
        history_(promise),
        frontier_(pool),
        timeline_(pool_size / kLineSize) {}

  // Goes on to the next explored crash point; `saw(event)` hears of each event on the way, and where a tree goes back,
  // of that and of all that stands once more. False at the end of the trace, and where error() says why it cannot go
  // on.
  template <typename Saw>
  bool next(const Saw& saw) {
    const auto begin = [this](const Event& event) {
      if (begins(event)) history_.apply(event);
    };
    const auto applied = [&](const Event& event) {
      if (event.kind == EventKind::kBack) {
        history_.go_back();
        timeline_.go_back();
        saw(event);
        return;
      }
      if (event.kind == EventKind::kFork) timeline_.keep();
      if (event.kind == EventKind::kSearched) searched_ = event.text;
      if (!begins(event)) history_.apply(event);
      timeline_.apply(event);
      if (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore) last_store_ = event.stack;
      saw(event);
    };
    for (;;) {
      if (fetch_) ended_ = !reader_->next(&event_);
      fetch_ = false;
      if (crash_points_.next(ended_ ? nullptr : &event_, begin, applied)) {
        if (history_.tables_lost()) return false;
        history_.settle();
        note_instant();
        return true;
      }
      if (ended_) return false;
      fetch_ = true;
    }
  }
  bool next() {
    return next([](const Event&) {});
  }
  // Returns why the walk ended early: the trace cannot be read, or its history is beyond what is followed.
  std::optional<TraceError> error() const {
    if (reader_->error() || !history_.tables_lost()) return reader_->error();
    return TraceError{
        "a power cut may leave too many tables: the target is buffered, and its operations since the last "
        "sync can be told in more ways than powercut follows",
        "operation " + std::to_string(history_.operation().index),
        "Let the scenario run a sync in between: { op = \"maintain\", command = \"sync\" }."};
  }

  // Brings pool and frontier() to the crash point; returns what changed since the last call.
  // Where there is trouble no image is looked at.
  const std::vector<Frontier::Change>& follow() {
    static const std::vector<Frontier::Change> nothing;
    return trouble_ ? nothing : frontier_.follow(model_.get());
  }

  // The crash point that next() stopped at.
  const Instant& instant() const { return instant_; }
  // How many there were so far.
  uint64_t crash_points() const { return crash_points_.count(); }
  const TraceReader& reader() const { return *reader_; }
  const Model& model() const { return *model_; }
  const History& history() const { return history_; }
  const Frontier& frontier() const { return frontier_; }
  const LineTimeline& timeline() const { return timeline_; }
  // The stack of the trace's last store up to here, of whatever line; 0 when there is none, or it has none.
  uint32_t last_store() const { return last_store_; }
  // In a tree of schedules: what went wrong at the crash point at hand with no power cut, and which schedule led to it.
  struct FoundTrouble {
    Trouble kind;
    std::string text;
  };
  const std::optional<FoundTrouble>& trouble() const { return trouble_; }
  // The schedules that the tree covers (FORMAT.md), once the walk has come to its end; empty for other traces.
  const std::string& searched() const { return searched_; }
  bool in_tree() const { return crash_points_.in_tree(); }
  const std::vector<KeptEvent>& schedule() const { return crash_points_.schedule(); }

 private:
  // Whether an event begins something that belongs to the history before the event's own crash point: from then on it
  // may have happened.
  static bool begins(const Event& event) { return event.kind == EventKind::kOpBegin || event.kind == EventKind::kCut; }

  void note_instant() {
    const CrashPoint& point = crash_points_.at();
    std::string what = name_of(point.kind);
    if (point.kind == EventKind::kFence) what = name_of(static_cast<FenceKind>(point.code));
    if (point.kind == EventKind::kFlush) what = name_of(static_cast<FlushKind>(point.code));
    if (point.kind == EventKind::kOpEnd) what = name_of(history_.operation().kind);
    instant_ = {point, (point.before ? "before " : "after ") + what};
    trouble_.reset();
    if (event_.kind == EventKind::kTrouble) {
      trouble_ = {static_cast<Trouble>(event_.code), std::string(event_.text)};
    }
  }

  std::unique_ptr<TraceReader> reader_;
  std::unique_ptr<Model> model_;
  CrashPoints crash_points_;
  History history_;
  Frontier frontier_;
  LineTimeline timeline_;
  uint32_t last_store_ = 0;
  Instant instant_;
  std::optional<FoundTrouble> trouble_;
  std::string searched_;
  Event event_;         // that the walk is at
  bool fetch_ = true;   // it is done with it
  bool ended_ = false;  // there are no more
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_TRACE_TRACE_FOLLOWER_H_
