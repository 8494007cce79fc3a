// Leads model and history through a trace and stops at the crash points that are to be explored. Surveying,
// exploring and reproducing share it, so that "crash point 41" is the same instant in each.
#ifndef POWERCUT_CHECKER_ORACLE_TRACE_WALK_H_
#define POWERCUT_CHECKER_ORACLE_TRACE_WALK_H_

#include <array>
#include <string>

#include "checker/oracle/history.h"
#include "replayer/crash_points/crash_points.h"
#include "replayer/models/model.h"
#include "tracer/format/reader.h"
#include "tracer/format/trace_names.h"

namespace powercut {

struct Instant {
  uint64_t ordinal = 0;  // number of the crash point among the explored ones, from 0
  uint64_t event = 0;
  bool before = false;  // just before the event, or just after it
  std::string when;     // "before sfence", "after insert"
};

// The caller pulls the walk from crash point to crash point. Between two calls nothing of the walk is on the stack:
// a process that forks there has two walks that stand at the same instant.
class TraceWalk {
 public:
  // `explored`: whether exploring is on at the start (the first phase's flag governs format and open).
  TraceWalk(TraceReader* reader, Model* model, bool explored) : reader_(reader), model_(model), explored_(explored) {}

  // Goes on to the next explored crash point, calling `saw(event)` after each event on the way was applied. False
  // at the end of the trace (or on a read error: see the reader).
  template <typename Saw>
  bool next(const Saw& saw) {
    for (;;) {
      if (stage_ == Stage::kFetch) {
        Event& event = events_[turn_ ^= 1];
        if (!reader_->next(&event)) return at_end(events_[turn_ ^= 1]);
        stage_ = Stage::kBegin;
        if (model_->crash_ahead_of(&event) && explored_) return stop_at(events_[turn_ ^ 1], false);
      }
      if (stage_ == Stage::kBegin) {
        const Event& event = events_[turn_];
        if (event.kind == EventKind::kPhase) explored_ = event.code != 0;
        if (begins(event)) history_.apply(event);
        stage_ = Stage::kApply;
        if (model_->crash_before(event) && explored_) return stop_at(event, true);
      }
      Event& event = events_[turn_];
      model_->apply(event);
      if (!begins(event)) history_.apply(event);
      saw(event);
      stage_ = Stage::kFetch;
      const bool crash = model_->crash_after(event);
      visited_after_ = crash && event.kind == EventKind::kOpEnd;
      if (crash && explored_) return stop_at(event, false);
    }
  }

  // The same in the form of a loop's condition, calling `visit(instant())` at the crash point.
  template <typename Visit, typename Saw>
  bool advance(const Visit& visit, const Saw& saw) {
    if (!next(saw)) return false;
    visit(instant_);
    return true;
  }

  // The crash point that next() stopped at.
  const Instant& instant() const { return instant_; }
  const History& history() const { return history_; }
  // How many there were so far.
  uint64_t crash_points() const { return crash_points_; }

 private:
  enum class Stage : uint8_t { kFetch, kBegin, kApply };

  // What begins is part of the history before the event's own crash point: from then on it may have happened.
  static bool begins(const Event& event) { return event.kind == EventKind::kOpBegin || event.kind == EventKind::kCut; }

  bool at_end(const Event& last) {
    if (end_ == End::kOver || !explored_) return false;
    if (end_ == End::kAhead) {
      end_ = visited_after_ || last.index == 0 ? End::kOver : End::kFinish;
      if (model_->crash_ahead_of(nullptr)) return stop_at(last, false);
      return at_end(last);
    }
    end_ = End::kOver;
    model_->finish();
    return stop_at(last, false);
  }

  bool stop_at(const Event& event, bool before) {
    std::string what = name_of(event.kind);
    if (event.kind == EventKind::kFence) what = name_of(static_cast<FenceKind>(event.code));
    if (event.kind == EventKind::kFlush) what = name_of(static_cast<FlushKind>(event.code));
    if (event.kind == EventKind::kOpEnd) what = name_of(history_.operation().kind);
    instant_ = {crash_points_++, event.index, before, (before ? "before " : "after ") + what};
    return true;
  }

  TraceReader* reader_;
  Model* model_;
  History history_;
  bool explored_;
  Stage stage_ = Stage::kFetch;
  enum class End : uint8_t { kAhead, kFinish, kOver };
  End end_ = End::kAhead;
  bool visited_after_ = false;
  uint64_t crash_points_ = 0;
  Instant instant_;
  std::array<Event, 2> events_;  // the one at hand, and the one before it: the trace may end there
  uint8_t turn_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_ORACLE_TRACE_WALK_H_
