// A persistency model: which contents each line may have after a power cut at each instant of a trace.
// One file per model (adr.cc, eadr.cc) behind this interface; DESIGN of the rules: line_log.h and MODELS.md.
#ifndef POWERCUT_REPLAYER_MODELS_MODEL_H_
#define POWERCUT_REPLAYER_MODELS_MODEL_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "replayer/models/line_log.h"
#include "tracer/format/trace.h"

namespace powercut {

// Wider sets than this are explored in part, and the run's coverage says so.
inline constexpr size_t kCandidateLimit = 1 << 16;
// The same for a line under a nested cut, whose sets multiply with those of the cut before.
inline constexpr size_t kNestedCandidateLimit = 1 << 12;

// The pending stores of all lines above a base that is not known here (nested crashes) or is the durable
// image (Model). Keeps no content of the medium itself.
class PendingLines {
 public:
  explicit PendingLines(AtomPolicy policy) : policy_(policy) {}

  // Splits a store at line boundaries. `offset`: bytes from the start of the pool.
  void store(uint64_t event, uint32_t thread, uint32_t stack, bool non_temporal, bool memcall, bool whole,
             uint64_t offset, std::span<const uint8_t> bytes);
  // True when a later fence of `thread` has something to make durable in the line because of it.
  bool flush(uint32_t thread, uint64_t offset, FlushKind kind);
  void fence(uint32_t thread);
  void settle_chains();
  void settle_all();

  // The lines whose legal contents would shrink syntactically: some pending atom becomes durable.
  std::vector<uint64_t> raised_by_fence(uint32_t thread) const;
  bool raised_by_clflush(uint64_t offset) const;

  const absl::btree_map<uint64_t, LineLog>& lines() const { return lines_; }
  absl::btree_map<uint64_t, LineLog>& lines() { return lines_; }
  const LineLog* find(uint64_t line) const;
  AtomPolicy policy() const { return policy_; }
  // Lines touched since the last call, ascending.
  std::vector<uint64_t> take_changed();

 private:
  AtomPolicy policy_;
  absl::btree_map<uint64_t, LineLog> lines_;  // by line number (offset / 64)
  // Per thread, the lines that its next fence may raise.
  absl::btree_map<uint32_t, absl::btree_set<uint64_t>> watched_;
  absl::btree_set<uint64_t> changed_;
};

class Model {
 public:
  Model(AtomPolicy policy, uint64_t pool_size) : pending_(policy), durable_(pool_size) {}
  virtual ~Model() = default;
  virtual std::string_view name() const = 0;

  // Whether the instant just before `event` is a crash point.
  virtual bool crash_before(const Event& event) = 0;
  virtual void apply(const Event& event) = 0;
  // Whether the instant just after `event` (already applied) is a crash point.
  virtual bool crash_after(const Event& event) = 0;
  // Called at the end of the trace, before the last crash point.
  virtual void finish() {}

  // The legal contents of a line now; contents[0] is its floor.
  CandidateSet candidates(uint64_t line) const;
  Content floor(uint64_t line) const;
  const PendingLines& pending() const { return pending_; }
  // Lines whose candidates may differ from those at the last call.
  std::vector<uint64_t> take_changed() { return pending_.take_changed(); }

 protected:
  // Moves the floors of all changed lines into the durable image and forgets lines with nothing pending.
  void absorb(uint64_t line);
  void absorb_all();
  void store(const Event& event);

  PendingLines pending_;
  std::vector<uint8_t> durable_;
};

// `name` is "adr" or "eadr"; null for any other.
std::unique_ptr<Model> make_model(std::string_view name, AtomPolicy policy, uint64_t pool_size);
std::unique_ptr<Model> make_adr(AtomPolicy policy, uint64_t pool_size);
std::unique_ptr<Model> make_eadr(AtomPolicy policy, uint64_t pool_size);

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_MODEL_H_
