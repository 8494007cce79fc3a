// A persistency model: which contents each line may have after a power cut at each instant of a trace.
// Its rules are those of persistency.h, which each medium says in its folder (replayer/media); why they are right:
// line_log.h and MODELS.md.
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

// Wider sets than this are explored in part, and the run's coverage says so.
inline constexpr size_t kCandidateLimit = 1 << 16;
// The same for a line under a nested cut, whose sets multiply with those of the cut before.
inline constexpr size_t kNestedCandidateLimit = 1 << 12;

class Model {
 public:
  // Precondition: `rules` outlive it.
  Model(const Persistency& rules, AtomPolicy wanted, uint64_t pool_size);
  virtual ~Model() = default;
  const Persistency& rules() const { return rules_; }

  // Asked first for each event, and at the end of the trace with null: whether the instant after the event before it is
  // a crash point that only this shows to be one. `next` has not begun.
  virtual bool crash_ahead_of(const Event* next) = 0;
  // Whether the instant just before `event` is a crash point.
  virtual bool crash_before(const Event& event) = 0;
  virtual void apply(const Event& event) = 0;
  // Whether the instant just after `event` (already applied) is a crash point.
  virtual bool crash_after(const Event& event) = 0;
  // Called at the end of the trace, before the last crash point.
  virtual void finish() {}

  // Remembers the state at hand, which go_back() returns to as often as it is called: the root of a tree of schedules.
  // What has changed is told of as by events.
  virtual void keep();
  virtual void go_back();

  // The legal contents of a line now; contents[0] is its floor.
  CandidateSet candidates(uint64_t line) const;
  Content floor(uint64_t line) const;
  const PendingLines& pending() const { return pending_; }
  // Lines whose candidates may differ from those at the last call, ascending; valid until the next call.
  const std::vector<PendingLines::Change>& take_changes() { return pending_.take_changes(); }

 protected:
  // Moves the floor of a line into the durable image, and forgets the line when nothing of it is pending.
  void absorb(uint64_t line);
  void store(const Event& event);
  void fence(const Event& event);
  void cut();
  // What a flush or a fence makes durable.
  Durable made_durable(const Event& event) const;
  // The event's thread, where the medium tells threads apart.
  uint32_t thread_of(const Event& event) const { return rules_.by_threads() ? event.thread : 0; }

  // What has to be known of the last event, to tell whether the instant before an operation begins is a crash point.
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
  // The medium without what is pending. Crash images are changed while they are explored, so it is not theirs; pages
  // that nothing was stored to are never touched.
  std::unique_ptr<uint8_t, Free> durable_;
  // What keep() remembers: what was pending, and since then what the medium held in lines that were absorbed.
  struct Kept {
    PendingLines pending;
    bool unvisited;
    absl::flat_hash_map<uint64_t, Content> overwritten;
  };
  std::optional<Kept> kept_;
  bool unvisited_ = false;  // there are images that no crash point had so far
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_MODEL_H_
