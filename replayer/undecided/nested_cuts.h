// The rules of power cuts inside recovery: recovery's own stores as the model sees them, and the crash points between
// the stores. An execution of recovery and a walk through the trie both ask here, so that the rules stand once
// (replayer/EXPLORER.md).
#ifndef POWERCUT_REPLAYER_UNDECIDED_NESTED_CUTS_H_
#define POWERCUT_REPLAYER_UNDECIDED_NESTED_CUTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "replayer/models/model.h"
#include "replayer/undecided/line_set.h"

namespace powercut {

// A power cut inside (or right after) recovery, with all that decides what later recoveries may find.
struct Cut {
  PendingLines stores{AtomPolicy::kAny};  // recovery's own stores above the undecided bases
  std::vector<Narrowed> narrowed;         // lines that recovery had observed; all others are as they were
  uint64_t stores_seen = 0;               // number of stores that recovery had made
  bool after_return = false;
};

// A store by recovery; findings of nested cuts name it.
struct NestedStore {
  uint64_t offset, size;
  std::vector<uint64_t> stack;  // return addresses, innermost first
};

class NestedCuts {
 public:
  // A crash point precedes each flush and fence that makes a store durable. If stores are durable at once, each store
  // is a crash point with this store in flight. Precondition: `rules` outlive this object.
  NestedCuts(AtomPolicy wanted, const Persistency& rules) : rules_(&rules), pending_(rules.policy(wanted)) {}

  // Each takes recovery's next step, and calls `at_crash_point` where the power may fail. The cut at that instant is
  // cut()'s.
  using AtCrashPoint = absl::FunctionRef<void()>;
  void store(const StoreTraits& traits, uint64_t offset, std::span<const uint8_t> bytes, std::vector<uint64_t> stack,
             AtCrashPoint at_crash_point);
  void flush(uint64_t offset, FlushKind kind, AtCrashPoint at_crash_point);
  // A fence that the medium has.
  void fence(AtCrashPoint at_crash_point);

  Cut cut(std::vector<Narrowed> narrowed) const { return {pending_, std::move(narrowed), stores_.size(), false}; }
  // Returns the cut right after recovery has returned; nothing if recovery has stored nothing.
  std::optional<Cut> cut_after(std::vector<Narrowed> narrowed);
  const std::vector<NestedStore>& stores() const { return stores_; }
  // Returns whether every store of recovery so far stays durable at every later crash point.
  bool all_durable();

 private:
  void land();

  const Persistency* rules_;
  PendingLines pending_;
  std::vector<NestedStore> stores_;
  std::vector<uint64_t> open_;  // lines stored to since they were seen durable
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_NESTED_CUTS_H_
