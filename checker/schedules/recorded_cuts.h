// The events of a recording of threads, with its crash points: before each event that raises a floor, and at each begin
// and end of an operation. Between two of these the images that a power cut may leave only grow in number. The history
// follows, so that an answer which no order explains shows at once.
#ifndef POWERCUT_CHECKER_SCHEDULES_RECORDED_CUTS_H_
#define POWERCUT_CHECKER_SCHEDULES_RECORDED_CUTS_H_

#include <functional>

#include "checker/oracle/history.h"
#include "tracer/format/trace.h"

namespace powercut {

class RecordedCuts {
 public:
  // `before`: the history of the run before the threads. `append` outlives this.
  RecordedCuts(const History& before, bool eadr, const std::function<void(const Event&)>& append);

  // Appends the event, numbered from `first_event` on. Where the event needs a crash point, appends the crash point
  // first.
  void add(const Event& event, uint64_t first_event);
  // Appends a crash point, unless no event came since the last crash point.
  void cut();
  uint64_t count() const { return cuts_; }
  const History& history() const { return history_; }

 private:
  const bool eadr_;
  const std::function<void(const Event&)>& append_;
  History history_;
  uint64_t events_ = 0, cuts_ = 0;
  bool is_new_ = true;  // something came since the last crash point
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_RECORDED_CUTS_H_
