// The interface of threads for a search over schedules. Each thread stands before its next event; one step makes this
// event and goes on to the next. The search can return to an earlier state. The target's threads are one such machine
// (checker/schedules/target_machine.h), small programs of events are another (program_machine.h).
#ifndef POWERCUT_REPLAYER_SCHEDULES_MACHINE_H_
#define POWERCUT_REPLAYER_SCHEDULES_MACHINE_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <utility>

namespace powercut {

// A digest of a state, or of the images that a power cut leaves; equal things have equal digests.
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
  kYields,   // ready, but waiting for others: leaving this thread is no preemption
  kWaiting,  // goes round a loop or waits for a lock, until another thread stores to a place that it has read
  kEnded,
};

class ScheduleMachine {
 public:
  // A state to which restore() returns; valid until the machine is returned to an earlier state.
  class Mark {
   public:
    virtual ~Mark() = default;
  };

  virtual ~ScheduleMachine() = default;
  virtual uint32_t threads() const = 0;
  virtual ThreadState state_of(uint32_t thread) const = 0;
  // Returns whether the thread stands at a cut: a power cut before its next event matters (MODELS.md, "Cuts of several
  // threads"), or the thread has no next event.
  virtual bool at_cut(uint32_t thread) const = 0;
  // Returns whether the thread's next event is a store in whose middle a power cut matters as well (eadr).
  virtual bool at_store(uint32_t thread) const = 0;
  // ways() returns the ways in which the thread may make its next step, as bits; choose() chooses one of them. A
  // machine in which each step has one way needs neither function.
  virtual uint64_t ways(uint32_t thread) const {
    (void)thread;
    return 1;
  }
  virtual void choose(uint32_t thread, uint32_t way) {
    (void)thread;
    (void)way;
  }
  virtual void step(uint32_t thread) = 0;
  // Returns whether this schedule has a trouble: it cannot go on.
  virtual bool troubled() const = 0;
  // Each makes a trouble of the schedule's state: all threads wait for a lock, or all threads go round in cycles.
  virtual void deadlocked() = 0;
  virtual void livelocked() = 0;
  // Returns whether the search must begin again: the steps so far were not split at an address that turned out to be
  // shared.
  virtual bool needs_restart() = 0;

  // Puts the state at hand into `mark`. An existing mark is overwritten, which saves an allocation.
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
