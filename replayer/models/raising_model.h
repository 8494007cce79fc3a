// A model in which stores add contents and some events take them away, by raising the floor of lines: adr and those of
// devices. Its crash points are before each such event that takes a content from a line, after every operation's end,
// before one begins where there were stores since, and at the end. Why these suffice: MODELS.md, "Crash points".
#ifndef POWERCUT_REPLAYER_MODELS_RAISING_MODEL_H_
#define POWERCUT_REPLAYER_MODELS_RAISING_MODEL_H_

#include "replayer/models/model.h"

namespace powercut {

class RaisingModel : public Model {
 public:
  using Model::Model;

  bool crash_ahead_of(const Event* next) final { return crash_ahead_of_begin(next) && note_visit(); }
  bool crash_before(const Event& event) final { return raises(event) && note_visit(); }
  void apply(const Event& event) final {
    change(event);
    note_for_begin(event);
  }
  bool crash_after(const Event& event) final { return event.kind == EventKind::kOpEnd && note_visit(); }

 protected:
  // Whether the event takes a content away from some line.
  virtual bool raises(const Event& event) = 0;
  virtual void change(const Event& event) = 0;
  bool takes_away(uint64_t line, const LineLog& log, const LineLog::Selection& durable) const {
    return shrinks(log, durable, floor(line), pending_.policy(), kCandidateLimit);
  }

 private:
  bool note_visit() {
    visited();
    return true;
  }
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_RAISING_MODEL_H_
