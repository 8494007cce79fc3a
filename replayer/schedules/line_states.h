// The pending stores of all lines, as a value. A copy costs one pointer for each line, so that each state of a search
// over schedules can have its own copy. The rules equal the rules of the models (line_log.h, replayer/media), which
// follow one schedule only; search_test.cc compares the two.
//
// Two digests tell states apart. The digest state() covers all that later candidates depend on. The digest frontier()
// covers the contents that a power cut may leave now, and nothing else: schedules that leave the same are judged once.
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

  // Takes over the stores that the run before the schedules has left pending.
  void begin(const Model& model);
  // Applies a store, flush or fence; `visible` does not show a store yet. `event.index` grows along a schedule.
  void apply(const Event& event);

  // Tells that a read-modify-write is about to change these bytes of the pool, before apply() is called with its store.
  void prepare(uint64_t offset, uint64_t size);

  // Each returns whether the event would make something durable: if so, a cut before the event and a cut after it
  // differ.
  bool drains(uint32_t thread) const;
  bool clflush_raises(uint64_t offset) const;
  // Returns whether a store of the thread is landing (eadr). The next event of any thread ends its flight.
  bool in_flight(uint32_t thread) const { return !in_flight_.empty() && storing_ == thread; }

  uint64_t state() const;
  uint64_t frontier() const;

 private:
  struct Line {
    uint64_t number = 0;
    Content initial;  // durable content when the schedules began; with all stores pending then, if there were any
    bool was_pending = false;
    Content floor;
    LineLog log;
    // Computed at the first call.
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
  std::optional<uint64_t> last_store_;              // number of the first piece of the last store
  std::vector<uint64_t> in_flight_;                 // eadr: lines of the store that is landing
  uint32_t storing_ = 0;                            // eadr: the thread of this store
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SCHEDULES_LINE_STATES_H_
