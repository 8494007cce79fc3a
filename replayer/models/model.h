// A persistency model: which contents each line may have after a power cut at each instant of a trace.
// The rules are an object of persistency.h, which each medium defines in its folder (replayer/media). The argument for
// the rules: line_log.h and MODELS.md.
#ifndef POWERCUT_REPLAYER_MODELS_MODEL_H_
#define POWERCUT_REPLAYER_MODELS_MODEL_H_

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "replayer/models/candidates.h"
#include "replayer/models/pending_lines.h"
#include "replayer/models/persistency.h"
#include "tracer/format/trace.h"

namespace powercut {

// Greatest number of contents of a line that are explored. Wider sets are explored in part, and the run's coverage says
// so.
inline constexpr size_t kCandidateLimit = 1 << 16;
// Greatest number of contents of a line under a nested cut, whose sets multiply with the sets of the cut before.
inline constexpr size_t kNestedCandidateLimit = 1 << 12;

class Model {
 public:
  // Precondition: `rules` outlive it.
  Model(const Persistency& rules, AtomPolicy wanted, uint64_t pool_size);
  virtual ~Model() = default;
  const Persistency& rules() const { return rules_; }

  // Asked first for each event, and with null at the end of the trace. Returns whether the instant after the event
  // before `next` is a crash point that only `next` shows to be one. `next` has not begun.
  virtual bool crash_ahead_of(const Event* next) = 0;
  // Returns whether the instant just before `event` is a crash point.
  virtual bool crash_before(const Event& event) = 0;
  virtual void apply(const Event& event) = 0;
  // Returns whether the instant just after `event` (already applied) is a crash point.
  virtual bool crash_after(const Event& event) = 0;
  // Called at the end of the trace, before the last crash point.
  virtual void finish() {}

  // Remembers the state at hand as the root of a tree of schedules. Every call of go_back() returns to this state;
  // take_changes() then lists the lines that have changed by that, as after events.
  virtual void keep();
  virtual void go_back();

  // Returns the legal contents of a line now; contents[0] is the line's floor.
  CandidateSet candidates(uint64_t line) const;
  Content floor(uint64_t line) const;
  const PendingLines& pending() const { return pending_; }
  // Returns the lines whose candidates may have changed since the last call, ascending; valid until the next call.
  const std::vector<PendingLines::Change>& take_changes() { return pending_.take_changes(); }

 protected:
  // Moves the floor of a line into the durable image, and forgets a line of which nothing is pending.
  void absorb(uint64_t line);
  void store(const Event& event);
  void fence(const Event& event);
  void cut();
  // Returns which stores a flush or a fence makes durable.
  Durable made_durable(const Event& event) const;
  // The event's thread, where the medium tells threads apart.
  uint32_t thread_of(const Event& event) const { return rules_.by_threads() ? event.thread : 0; }

  // Takes notes of an event, for the question whether the instant before the next operation is a crash point.
  void note_for_begin(const Event& event);
  void visited() { unvisited_ = false; }
  bool crash_ahead_of_begin(const Event* next) const {
    return next != nullptr && next->kind == EventKind::kOpBegin && unvisited_;
  }

  PendingLines pending_;

 private:
  const Persistency& rules_;
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };
  // The medium without all pending stores. Crash images are changed while they are explored, so this copy is separate;
  // pages without any store are never touched.
  std::unique_ptr<uint8_t, Free> durable_;
  // The state that keep() remembers: the pending stores, and the earlier contents in the medium of lines that were
  // absorbed since.
  struct Kept {
    PendingLines pending;
    bool unvisited;
    absl::flat_hash_map<uint64_t, Content> overwritten;
  };
  std::optional<Kept> kept_;
  bool unvisited_ = false;  // true: there are images that no crash point has had so far
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_MODEL_H_
