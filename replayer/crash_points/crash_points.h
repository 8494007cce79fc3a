// The one walk through the crash points of a trace: it leads a model through the events and stops where the model says
// that a power cut matters (MODELS.md, "Crash points"). All commands use it, so that "crash point 41" is the same
// instant in each: exploring, counting, replaying, auditing and faults (checker/trace/trace_follower.h), program mode,
// litmus tests and benchmarks. The caller owns the events and pulls: a reader, a list or a generator will do. Between
// two calls the stack has nothing of the walk, so that a process that forks there has two walks at the same instant. In
// a tree of schedules (tracer/format/FORMAT.md) the trace names its crash points itself. To go back the model returns
// to the tree's root, and the events of the schedule up to there are applied once more. A Frontier is no second walk:
// it is told of no event, and compares the lines of the model where this walk stands.
#ifndef POWERCUT_REPLAYER_CRASH_POINTS_CRASH_POINTS_H_
#define POWERCUT_REPLAYER_CRASH_POINTS_CRASH_POINTS_H_

#include <vector>

#include "replayer/models/model.h"
#include "tracer/format/event_groups.h"
#include "tracer/format/kept_event.h"

namespace powercut {

struct CrashPoint {
  uint64_t ordinal = 0;  // number among the explored crash points, from 0
  uint64_t event = 0;    // the event that the power cut precedes or follows,
  EventKind kind{};      // what it is,
  uint8_t code = 0;
  bool before = false;  // and which of the two
};

class CrashPoints {
 public:
  // `explored`: whether crash points count before the first phase begins, which says so for itself.
  explicit CrashPoints(Model* model, bool explored = true) : model_(model), explored_(explored) {}

  // Call it with an event until it returns false, then with the next one; at the end of the trace with null. True: the
  // model stands at the crash point at(), just before or after the event, or after the one before it. `begin(event)` is
  // called when the event comes up, `applied(event)` once the model has it; of a tree, applied(kBack) once the model is
  // back at the root, and both again for each event that stands.
  template <typename Begin, typename Applied>
  bool next(const Event* event, const Begin& begin, const Applied& applied) {
    if (tree_ && stage_ == Stage::kAhead) return next_in_tree(event, begin, applied);
    switch (stage_) {
      case Stage::kAhead:
        if (model_->crash_ahead_of(event) && explored_) return stop(last_, Stage::kBefore);
        [[fallthrough]];
      case Stage::kBefore:
        if (event == nullptr) return end();
        if (event->kind == EventKind::kPhase) explored_ = event->code != 0;
        if (event->kind == EventKind::kFork) {
          tree_ = true;
          model_->keep();
        }
        begin(*event);
        if (model_->crash_before(*event) && explored_) return stop(place_of(*event, true), Stage::kApply);
        [[fallthrough]];
      case Stage::kApply:
        model_->apply(*event);
        applied(*event);
        last_ = place_of(*event, false);
        ended_ = model_->crash_after(*event);
        if (ended_ && explored_) return stop(last_, Stage::kPassed);
        [[fallthrough]];
      case Stage::kPassed:
        break;
    }
    // The end of the trace is passed once.
    stage_ = event != nullptr ? Stage::kAhead : Stage::kPassed;
    return false;
  }
  bool next(const Event* event) {
    const auto nothing = [](const Event&) {};
    return next(event, nothing, nothing);
  }

  const CrashPoint& at() const { return at_; }
  // Explored crash points so far.
  uint64_t count() const { return count_; }

  // Whether the walk is in a tree of schedules, and the events of the schedule at hand, from the root on.
  bool in_tree() const { return tree_; }
  const std::vector<KeptEvent>& schedule() const { return schedule_; }

 private:
  enum class Stage : uint8_t { kAhead, kBefore, kApply, kPassed };

  template <typename Begin, typename Applied>
  bool next_in_tree(const Event* event, const Begin& begin, const Applied& applied) {
    if (event == nullptr) return false;
    switch (event->kind) {
      case EventKind::kCrashPoint:
      case EventKind::kTrouble:
        // Where it stands in the trace, which goes on whatever schedule comes next.
        last_.event = event->index;
        return explored_ && stop(last_, Stage::kPassed);
      case EventKind::kBack:
        schedule_.resize(event->size);
        model_->go_back();
        applied(*event);
        for (const KeptEvent& earlier : schedule_) take(earlier.view(), begin, applied);
        return false;
      case EventKind::kSearched:
        applied(*event);
        return false;
      case POWERCUT_MEMORY_EVENTS:
      case POWERCUT_OPERATION_EVENTS:
      case POWERCUT_PROCESS_EVENTS:
      case POWERCUT_NAME_EVENTS:
      case EventKind::kCut:
      case EventKind::kFork:
      case EventKind::kContent:
        break;
    }
    schedule_.emplace_back(*event);
    take(*event, begin, applied);
    return false;
  }
  template <typename Begin, typename Applied>
  void take(const Event& event, const Begin& begin, const Applied& applied) {
    begin(event);
    model_->apply(event);
    applied(event);
    last_ = place_of(event, false);
  }

  static CrashPoint place_of(const Event& event, bool before) {
    return {.ordinal = 0, .event = event.index, .kind = event.kind, .code = event.code, .before = before};
  }
  // `next`: what is to do when the walk goes on.
  bool stop(const CrashPoint& point, Stage next) {
    at_ = point;
    at_.ordinal = count_++;
    stage_ = next;
    return true;
  }
  // The instant after the last event, unless it was a crash point anyway.
  bool end() {
    stage_ = Stage::kPassed;
    if (!explored_ || ended_) return false;
    model_->finish();
    return stop(last_, Stage::kPassed);
  }

  Model* model_;
  bool explored_;
  bool ended_ = true;  // there was no event, or after the last one was a crash point, in whatever phase
  Stage stage_ = Stage::kAhead;
  CrashPoint last_, at_;
  uint64_t count_ = 0;
  bool tree_ = false;
  std::vector<KeptEvent> schedule_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_CRASH_POINTS_CRASH_POINTS_H_
