// A persistency model: which contents each line may have after a power cut at each instant of a trace.
// One file per model (adr.cc, eadr.cc; of devices block.cc, flash.cc) behind this interface; DESIGN of the rules:
// line_log.h and MODELS.md.
#ifndef POWERCUT_REPLAYER_MODELS_MODEL_H_
#define POWERCUT_REPLAYER_MODELS_MODEL_H_

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/models/candidates.h"
#include "replayer/models/pending_lines.h"
#include "tracer/format/trace.h"

namespace powercut {

// Wider sets than this are explored in part, and the run's coverage says so.
inline constexpr size_t kCandidateLimit = 1 << 16;
// The same for a line under a nested cut, whose sets multiply with those of the cut before.
inline constexpr size_t kNestedCandidateLimit = 1 << 12;

// What a power cut does to stores, by the names of the models.
enum class Persistency : uint8_t { kAdr, kEadr, kBlock, kFlash };
inline Persistency persistency_of(std::string_view model) {
  return model == "eadr"    ? Persistency::kEadr
         : model == "block" ? Persistency::kBlock
         : model == "flash" ? Persistency::kFlash
                            : Persistency::kAdr;
}
inline bool is_device(Persistency persistency) { return persistency >= Persistency::kBlock; }
// How stores are torn: of a device as it says, whatever is wanted.
inline AtomPolicy policy_under(Persistency persistency, AtomPolicy wanted) {
  return persistency == Persistency::kBlock   ? AtomPolicy::kUnits
         : persistency == Persistency::kFlash ? AtomPolicy::kAny
                                              : wanted;
}

// Stores of a device: to a unit of sectors, and to a page or an erase block.
inline StoreTraits unit_write() { return {.non_temporal = true, .memcall = false, .whole = true, .continues = false}; }
inline StoreTraits page_write() { return {.non_temporal = false, .memcall = false, .whole = true, .continues = false}; }
inline bool is_force(const Event& event) {
  return event.kind == EventKind::kFlush && static_cast<FlushKind>(event.code) == FlushKind::kForce;
}
inline bool is_device_flush(const Event& event) {
  return event.kind == EventKind::kFence && static_cast<FenceKind>(event.code) == FenceKind::kDevice;
}

class Model {
 public:
  Model(AtomPolicy policy, uint64_t pool_size);
  virtual ~Model() = default;
  virtual std::string_view name() const = 0;

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

  // What has to be known of the last event, to tell whether the instant before an operation begins is a crash point.
  void note_for_begin(const Event& event);
  void visited() { unvisited_ = false; }
  bool crash_ahead_of_begin(const Event* next) const {
    return next != nullptr && next->kind == EventKind::kOpBegin && unvisited_;
  }

  PendingLines pending_;

 private:
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

// `name` is "adr", "eadr", "block" or "flash"; null for any other. Devices have an atom policy of their own.
std::unique_ptr<Model> make_model(std::string_view name, AtomPolicy policy, uint64_t pool_size);
std::unique_ptr<Model> make_adr(AtomPolicy policy, uint64_t pool_size);
std::unique_ptr<Model> make_eadr(AtomPolicy policy, uint64_t pool_size);
std::unique_ptr<Model> make_block(uint64_t pool_size);
std::unique_ptr<Model> make_flash(uint64_t pool_size);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_MODEL_H_
