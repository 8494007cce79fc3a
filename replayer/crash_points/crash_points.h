// Drives a model through a trace and stops at every crash point: the one loop that counting, exploring and
// the litmus suite share, so that they agree on what a crash point is.
#ifndef POWERCUT_REPLAYER_CRASH_POINTS_CRASH_POINTS_H_
#define POWERCUT_REPLAYER_CRASH_POINTS_CRASH_POINTS_H_

#include <functional>

#include "replayer/models/model.h"

namespace powercut {

struct CrashPoint {
  uint64_t event = 0;  // the event that the power cut precedes or follows
  bool before = false;
};

// Applies `event` to `model`; calls `visit(CrashPoint)` at the crash points just before and just after it,
// with the model in that state. Returns whether the instant after the event was visited.
template <typename Visit>
bool step(Model* model, const Event& event, const Visit& visit) {
  if (model->crash_ahead_of(&event)) visit(CrashPoint{event.index - 1, false});
  if (model->crash_before(event)) visit(CrashPoint{event.index, true});
  model->apply(event);
  if (!model->crash_after(event)) return false;
  visit(CrashPoint{event.index, false});
  return true;
}

// The crash points at the end of the trace; `last` is the index of its last event, and `visited` whether the instant
// after it was.
template <typename Visit>
void finish(Model* model, uint64_t last, bool visited, const Visit& visit) {
  if (model->crash_ahead_of(nullptr)) visit(CrashPoint{last, false});
  model->finish();
  if (!visited) visit(CrashPoint{last, false});
}

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_CRASH_POINTS_CRASH_POINTS_H_
