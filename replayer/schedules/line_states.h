// What is pending in each line, as a value: to copy it costs a pointer a line, so that each state of a search over
// schedules has one of its own. The rules are those of the models (line_log.h, adr.cc, eadr.cc), which go along one
// schedule only; line_states_test.cc holds the two together.
//
// Two digests tell states apart. state(): all that later candidates depend on. frontier(): what a power cut may leave
// now, and nothing else, so that schedules which leave the same are judged once.
#ifndef POWERCUT_REPLAYER_SCHEDULES_LINE_STATES_H_
#define POWERCUT_REPLAYER_SCHEDULES_LINE_STATES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "replayer/models/line_log.h"
#include "replayer/models/model.h"
#include "tracer/format/trace.h"

namespace powercut {

class LineStates {
 public:
  // `caches_persist`: eadr. `visible`: the pool's bytes, as the next event finds them.
  LineStates(AtomPolicy policy, bool caches_persist, const uint8_t* visible)
      : policy_(policy), caches_persist_(caches_persist), visible_(visible) {}

  // What the run before the schedules has left pending.
  void begin(const Model& model);
  // A store, flush or fence; `visible` does not show it yet. `event.index` grows along a schedule.
  void apply(const Event& event);

  // The pool's bytes there are about to change, before the store is told of: a read-modify-write's.
  void prepare(uint64_t offset, uint64_t size);

  // Whether the event would make something durable: a power cut before it is not one after it.
  bool drains(uint32_t thread) const;
  bool clflush_raises(uint64_t offset) const;
  // eadr: whether a store of the thread is landing, which the next event of anybody ends.
  bool in_flight(uint32_t thread) const { return !in_flight_.empty() && storing_ == thread; }

  uint64_t state() const;
  uint64_t frontier() const;

 private:
  struct Line {
    uint64_t number = 0;
    Content initial;  // durable when the schedules began, or with all that was pending then where it was
    bool was_pending = false;
    Content floor;
    LineLog log;
    // Filled in as they are asked for.
    mutable std::optional<uint64_t> state, frontier;
  };

  const Line* find(uint64_t number) const;
  Line* change(uint64_t number);
  void absorb(Line* line);
  void settle_in_flight();

  AtomPolicy policy_;
  bool caches_persist_;
  const uint8_t* visible_;
  std::vector<std::shared_ptr<const Line>> lines_;  // ascending
  std::optional<uint64_t> last_store_;              // the number of its first piece
  std::vector<uint64_t> in_flight_;                 // eadr: lines of the store that is landing,
  uint32_t storing_ = 0;                            // and whose it is
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SCHEDULES_LINE_STATES_H_
