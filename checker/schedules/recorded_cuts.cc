#include "checker/schedules/recorded_cuts.h"

#include <utility>

#include "tracer/runtime/hooks.h"

namespace powercut {

RecordedCuts::RecordedCuts(const History& before, bool eadr, const std::function<void(const Event&)>& append)
    : eadr_(eadr), append_(append), history_(before) {
  Event fork;
  fork.kind = EventKind::kFork;
  history_.apply(fork);
}

void RecordedCuts::add(const Event& event, uint64_t first_event) {
  const bool raises = event.kind == EventKind::kOpBegin || event.kind == EventKind::kOpEnd ||
                      event.kind == EventKind::kFence ||
                      (event.kind == EventKind::kFlush && event.code == POWERCUT_CLFLUSH) ||
                      (eadr_ && (event.kind == EventKind::kStore || event.kind == EventKind::kNtStore));
  if (raises) cut();
  Event numbered = event;
  numbered.index = first_event + events_++;
  history_.apply(numbered);
  append_(numbered);
  is_new_ = true;
}

void RecordedCuts::cut() {
  if (!std::exchange(is_new_, false)) return;
  ++cuts_;
  Event event;
  event.kind = EventKind::kCrashPoint;
  append_(event);
}

}  // namespace powercut
