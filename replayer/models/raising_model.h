// A model in which stores add contents and some events take contents away, by raising the floor of lines: every model
// but eadr. The rules (persistency.h) name these events. Crash points lie before each event that takes a content from a
// line, and after every operation's end. They also lie before an operation begins, if there were stores since the last
// crash point, and at the end. Why these points suffice: MODELS.md, "Crash points".
#ifndef POWERCUT_REPLAYER_MODELS_RAISING_MODEL_H_
#define POWERCUT_REPLAYER_MODELS_RAISING_MODEL_H_

#include "replayer/models/model.h"

namespace powercut {

class RaisingModel final : public Model {
 public:
  using Model::Model;

  bool crash_ahead_of(const Event* next) override { return crash_ahead_of_begin(next) && note_visit(); }
  bool crash_before(const Event& event) override { return raises(event) && note_visit(); }
  void apply(const Event& event) override {
    change(event);
    note_for_begin(event);
  }
  bool crash_after(const Event& event) override { return event.kind == EventKind::kOpEnd && note_visit(); }

 private:
  // Returns whether the event takes a content away from some line.
  bool raises(const Event& event);
  bool flush_raises(const Event& event);
  bool fence_raises(const Event& event);
  void change(const Event& event);
  void flush(const Event& event);
  bool takes_away(uint64_t line, const LineLog& log, const LineLog::Selection& durable) const {
    return shrinks(log, durable, floor(line), pending_.policy(), kCandidateLimit);
  }
  bool note_visit() {
    visited();
    return true;
  }
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_RAISING_MODEL_H_
