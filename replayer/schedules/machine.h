// Threads as a search over schedules sees them: each stands before its next event, one step makes that event and goes
// on to the one after it, and a state can be returned to. The target's threads are one such machine
// (checker/schedules/target_machine.h), small programs of events are another (program_machine.h).
#ifndef POWERCUT_REPLAYER_SCHEDULES_MACHINE_H_
#define POWERCUT_REPLAYER_SCHEDULES_MACHINE_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <utility>

namespace powercut {

// Of a state or of what a power cut leaves; equal for what is the same.
struct Digest {
  uint64_t high = 0, low = 0;
  auto operator<=>(const Digest&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Digest& digest) {
    return H::combine(std::move(h), digest.high, digest.low);
  }
};

enum class ThreadState : uint8_t {
  kReady,
  kYields,   // ready, but it waits for others: leaving it is no preemption
  kWaiting,  // it goes round a loop, or waits for a lock, until another thread stores what it has read
  kEnded,
};

class ScheduleMachine {
 public:
  // What restore() returns to; good until the machine is returned to an earlier state.
  class Mark {
   public:
    virtual ~Mark() = default;
  };

  virtual ~ScheduleMachine() = default;
  virtual uint32_t threads() const = 0;
  virtual ThreadState state_of(uint32_t thread) const = 0;
  // Whether a power cut before the thread's next event matters (MODELS.md, "Cuts of several threads"), or it has none.
  virtual bool at_cut(uint32_t thread) const = 0;
  // eadr: the thread's next event is a store, in the middle of which a power cut matters as well.
  virtual bool at_store(uint32_t thread) const = 0;
  // In which ways the thread may make its next step, as bits. The one that is chosen is that of the thread's next step;
  // machines of which each step has one way need neither function.
  virtual uint64_t ways(uint32_t thread) const {
    (void)thread;
    return 1;
  }
  virtual void choose(uint32_t thread, uint32_t way) {
    (void)thread;
    (void)way;
  }
  virtual void step(uint32_t thread) = 0;
  // Something is wrong with this schedule: there is no going on.
  virtual bool troubled() const = 0;
  // All threads wait: for a lock, or are in a cycle. Makes it the trouble of this schedule.
  virtual void deadlocked() = 0;
  virtual void livelocked() = 0;
  // More addresses turned out to be shared than the events so far were split at: the search has to begin again.
  virtual bool needs_restart() = 0;

  // The state at hand as a mark; `mark` is written anew where there is one, which saves its memory.
  virtual void keep(std::unique_ptr<Mark>* mark) = 0;
  std::unique_ptr<Mark> mark() {
    std::unique_ptr<Mark> out;
    keep(&out);
    return out;
  }
  virtual void restore(const Mark& mark) = 0;
  virtual Digest state() const = 0;
  virtual Digest frontier() const = 0;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_SCHEDULES_MACHINE_H_
