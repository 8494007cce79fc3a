// Follows a recovery while it runs: its reads of the medium, stores, flushes and fences, in order.
//
// A recovery is a function of the bytes that it reads of the medium, word by word, each byte once. Bytes that the
// recovery has read or stored before are left out, since the execution determines them. A listener enters these steps
// into the trie; the eager explorer collects the cuts among the steps instead. Edits of the code (CodeEdit) are made
// here, before any listener hears of a step, so that no two followers can disagree.
#ifndef POWERCUT_REPLAYER_EXECUTOR_RECOVERY_FOLLOWER_H_
#define POWERCUT_REPLAYER_EXECUTOR_RECOVERY_FOLLOWER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "replayer/executor/loop_watch.h"
#include "replayer/media/medium.h"
#include "replayer/undecided/nested_cuts.h"
#include "replayer/undecided/undecided_memory.h"
#include "tracer/runtime/hooks.h"
#include "tracer/world/code_place.h"

namespace powercut {

// A change of target code, at accesses to the pool whose call stack begins with `stack`. The code runs as if compiled
// without a flush or fence, or with additional ones after a store (checker/EDITS.md).
struct CodeEdit {
  static constexpr size_t kMostFrames = 256;
  std::vector<uint64_t> stack;        // return addresses, innermost first; not empty
  bool drop = false;                  // true: the flush or fence is ignored
  bool flush = false, fence = false;  // otherwise, after a store: adds `clwb` of its lines, adds `sfence`
};

// A place of recovery's code that flushed or fenced.
struct FlushSite {
  bool fence = false;
  uint8_t code = 0;             // FenceKind or FlushKind
  std::vector<uint64_t> stack;  // return addresses, innermost first, without the engine's own
  auto operator<=>(const FlushSite&) const = default;
};

// Hears what recovery does to the pool, in order.
class PathListener {
 public:
  virtual ~PathListener() = default;
  // `word`: offset of an aligned 8-byte word; `bytes`: mask of the bytes read; `value`: the word with all other bytes
  // zero.
  virtual void read(uint64_t /*word*/, uint8_t /*bytes*/, uint64_t /*value*/) {}
  virtual void store(uint64_t /*offset*/, std::span<const uint8_t>, uint32_t /*flags*/, CodePlace) {}
  virtual void flush(uint64_t /*offset*/, FlushKind) {}
  virtual void fence() {}
  // The first loop turn or call behind a fence: the machine's state can be taken. False ends the execution here.
  virtual bool behind_fence(LiveState) { return true; }
};

// The greatest numbers of stores, flushes, fences and lines read that one recovery reached, each with the call stack of
// the step that reached it.
//
// The numbers hold over all crash states, though not every state has an execution of its own. A recovery is a function
// of the bytes that it reads, and a way that the trie follows was run before. RecoveryTrie::clear() forgets ways, never
// these numbers.
struct RecoveryPeaks {
  struct Peak {
    uint64_t value = 0;
    std::vector<uint64_t> stack;  // return addresses, innermost first
  };
  Peak stores, flushes, fences, lines_read;
};

class RecoveryFollower {
 public:
  struct Options {
    AtomPolicy policy = AtomPolicy::kAny;
    const Persistency* persistency = &default_persistency();
    std::vector<CodeEdit> edits = {};
    bool list_sites = false;
    MemoryRange own_code = {};
  };
  // `memory` and `lines` outlive this object.
  RecoveryFollower(const Options& options, UndecidedMemory* memory, LineTable* lines)
      : options_(options), memory_(memory), lines_(lines) {}

  // Begins an execution of recovery. Cuts at its fresh crash points (Decisions) are appended to `cuts`, unless null.
  void begin(Decisions* decisions, std::vector<Cut>* cuts);
  // Begins an execution of recovery whose steps `listener` hears.
  void begin(Decisions* decisions, PathListener* listener);
  // Begins an execution that goes on behind a recovery (Executor::run_continued). It is no recovery: it has no part in
  // peaks() and sites().
  void go_on(Decisions* decisions, const UndecidedMemory::Mark& level, const NestedCuts& before,
             std::vector<Cut>* cuts);
  void end();
  bool active() const { return decisions_ != nullptr; }
  // Only a listener compares states of the machine behind fences, and stacks are a part of these states.
  bool compares_stacks() const { return listener_ != nullptr; }

  // Returns the cut right after the recovery that ran last; nothing if this recovery stored nothing.
  std::optional<Cut> cut_after();
  // All that the recovery has stored, and what of it is durable.
  const NestedCuts& nested() const { return *nested_; }
  // The recovery's stores so far.
  const std::vector<NestedStore>& stores() const { return nested_->stores(); }
  // Returns the digest of the last recovery's reads of the medium, in order. The digest names its leaf in the recovery
  // trie.
  uint64_t path() const { return path_; }
  const RecoveryPeaks& peaks() const { return peaks_; }
  // Flushes of the pool and fences that recovery made, with their numbers; with `list_sites`.
  const absl::btree_map<FlushSite, uint64_t>& sites() const { return sites_; }

  // ---- for the hooks, while it is active -----------------------------------------------------------
  // Notes a load of bytes of a line, and decides the undecided bytes among them.
  void read(uint64_t line, uint64_t mask);
  // Notes that the recovery has loaded from `number` lines.
  void lines_read(uint64_t number, CodePlace place);
  // Notes a store to the pool; memory may show the bytes already, or only when the hook has returned.
  void store(uint64_t offset, std::span<const uint8_t> bytes, uint32_t flags, CodePlace place);
  void flush(uint64_t offset, FlushKind kind, CodePlace place);
  void fence(FenceKind kind, CodePlace place);
  // Returns whether there was a fence since the last call, and the listener wants to hear of the step behind the fence.
  bool take_fenced() { return std::exchange(fenced_, false); }
  bool behind_fence(LiveState live);

 private:
  // Returns the bytes of `mask` that this recovery has not read or stored before, and notes them as seen.
  uint64_t first_seen(uint64_t line, uint64_t mask);
  void begin_path(Decisions* decisions);
  void cut();
  // Counts one more step of a kind. Only a number that no recovery has reached yet takes time, for its call stack.
  void count(uint64_t* of_this_recovery, RecoveryPeaks::Peak* peak, CodePlace place) {
    if (++*of_this_recovery > peak->value && !continued_) [[unlikely]]
      *peak = {*of_this_recovery, place.stack()};
  }
  // Returns the union of the edits that apply to an access.
  CodeEdit edits_at(CodePlace place) const;
  void note_site(bool fence, uint8_t code, CodePlace place);
  // Each makes a flush of the pool or a fence, by the target's code or by an edit.
  void make_flush(uint64_t offset, FlushKind kind, CodePlace place);
  void make_fence(CodePlace place);
  // Returns the return addresses that are not the engine's.
  std::vector<uint64_t> foreign(std::vector<uint64_t> stack) const;

  Options options_;
  UndecidedMemory* memory_;
  LineTable* lines_;
  Decisions* decisions_ = nullptr;
  PathListener* listener_ = nullptr;
  std::vector<Cut>* cuts_ = nullptr;
  std::optional<NestedCuts> nested_;  // none with a listener, which has its own cuts
  size_t decided_before_ = 0;         // decisions before the recovery at hand
  bool fenced_ = false;
  bool continued_ = false;  // what runs goes on behind a recovery
  uint32_t path_epoch_ = 0;
  uint64_t path_ = 0;
  uint64_t recovery_path_ = 0;  // while something goes on behind a recovery: that recovery's path
  struct {
    uint64_t stores, flushes, fences;
  } done_{};  // numbers of the recovery at hand
  RecoveryPeaks peaks_;
  absl::btree_map<FlushSite, uint64_t> sites_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_RECOVERY_FOLLOWER_H_
