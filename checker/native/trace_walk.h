// Leads model and history through a trace and stops at the crash points that are to be explored. Surveying,
// exploring and reproducing share it, so that "crash point 41" is the same instant in each.
#ifndef POWERCUT_CHECKER_NATIVE_TRACE_WALK_H_
#define POWERCUT_CHECKER_NATIVE_TRACE_WALK_H_

#include <string>

#include "checker/native/history.h"
#include "checker/native/trace_names.h"
#include "replayer/crash_points.h"
#include "replayer/models/model.h"
#include "tracer/format/reader.h"

namespace powercut {

struct Instant {
  uint64_t ordinal = 0;  // number of the crash point among the explored ones, from 0
  uint64_t event = 0;
  bool before = false;  // just before the event, or just after it
  std::string when;     // "before sfence", "after insert"
};

class TraceWalk {
 public:
  // `explored`: whether exploring is on at the start (the first phase's flag governs format and open).
  TraceWalk(TraceReader* reader, Model* model, bool explored) : reader_(reader), model_(model), explored_(explored) {}

  // Advances by one event, calling `visit(Instant)` at each explored crash point on the way, and `saw(event)`
  // after the event was applied. False at the end of the trace (or on a read error: see the reader).
  template <typename Visit, typename Saw>
  bool advance(const Visit& visit, const Saw& saw) {
    Event event;
    if (!reader_->next(&event)) {
      if (!finished_ && !visited_after_ && last_event_.index > 0 && explored_) {
        model_->finish();
        visit(instant(last_event_, false));
      }
      finished_ = true;
      return false;
    }
    if (event.kind == EventKind::kPhase) explored_ = event.code != 0;
    const bool begins = event.kind == EventKind::kOpBegin || event.kind == EventKind::kCut;
    if (begins) history_.apply(event);
    visited_after_ = false;
    if (model_->crash_before(event) && explored_) visit(instant(event, true));
    model_->apply(event);
    if (!begins) history_.apply(event);
    saw(event);
    if (model_->crash_after(event)) {
      if (explored_) visit(instant(event, false));
      visited_after_ = event.kind == EventKind::kOpEnd;
    }
    last_event_ = event;
    return true;
  }

  const History& history() const { return history_; }
  uint64_t crash_points() const { return ordinal_; }

 private:
  Instant instant(const Event& event, bool before) {
    std::string what = name_of(event.kind);
    if (event.kind == EventKind::kFence) what = name_of(static_cast<FenceKind>(event.code));
    if (event.kind == EventKind::kFlush) what = name_of(static_cast<FlushKind>(event.code));
    if (event.kind == EventKind::kOpEnd) what = name_of(history_.operation().kind);
    return {ordinal_++, event.index, before, (before ? "before " : "after ") + what};
  }

  TraceReader* reader_;
  Model* model_;
  History history_;
  bool explored_;
  bool finished_ = false;
  bool visited_after_ = false;
  uint64_t ordinal_ = 0;
  Event last_event_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_NATIVE_TRACE_WALK_H_
