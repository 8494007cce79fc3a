// The pending stores of all lines above a base that is not known here. They are recovery's own stores (nested cuts), or
// the trace's stores above the durable image (Model). This class keeps no content of the medium.
//
// The cost of an event grows with the lines that the event names alone. A table leads from a line to its log, and a
// thread has a list of the lines that its next fence may raise. Empty logs are used again with their memory.
#ifndef POWERCUT_REPLAYER_MODELS_PENDING_LINES_H_
#define POWERCUT_REPLAYER_MODELS_PENDING_LINES_H_

#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/models/line_log.h"
#include "tracer/format/trace.h"

namespace powercut {

// Numbers that are added often and read seldom. The list is never longer than twice the number of its distinct members.
class NumberList {
 public:
  void add(uint64_t number);
  // Returns the numbers, ascending, each once.
  const std::vector<uint64_t>& sorted();
  void clear() { numbers_.clear(); }

 private:
  std::vector<uint64_t> numbers_;
};

class PendingLines {
 public:
  explicit PendingLines(AtomPolicy policy) : policy_(policy) {}

  // Splits a store at line boundaries. `offset`: bytes from the start of the pool. A store that continues becomes a
  // part of the store before it, with the number of its first piece, unless another event lies between.
  void store(uint64_t event, uint32_t thread, uint32_t stack, StoreTraits traits, uint64_t offset,
             std::span<const uint8_t> bytes);
  // Returns true if the flush has an effect: a later fence of `thread`, or clflush at once, makes atoms of the line
  // durable because of it.
  bool flush(uint32_t thread, uint64_t offset, FlushKind kind);
  void fence(uint32_t thread);
  void settle_chain(uint64_t line);
  void settle_all();
  // Makes all stores to this word durable; for block devices.
  void force(uint64_t offset);
  bool empty() const { return at_.empty(); }

  // Returns the lines of which a fence of `thread` would make some pending atom durable, ascending; valid until the
  // next call.
  const std::vector<uint64_t>& raised_by_fence(uint32_t thread);
  bool raised_by_clflush(uint64_t offset) const;

  // Returns the log of a line; null if there is none. Valid until the next store.
  const LineLog* find(uint64_t line) const;
  AtomPolicy policy() const { return policy_; }
  struct Line {
    uint64_t number;
    const LineLog& log;
  };
  // Returns all lines with a log, ascending, in a time that grows with their number. Valid until the next store.
  std::vector<Line> lines() const;

  struct Change {
    uint64_t line;
    bool raised;  // true: some atom became durable, or the last store grew; otherwise stores were appended only
  };
  // Makes the pending stores equal to the stores of `other`; the lines of both count as changed. touch() makes `line`
  // count as changed.
  void become(const PendingLines& other);
  void touch(uint64_t line) { changed(line, true); }

  // Each returns the lines that have changed since the last call, ascending; the result of take_changes() is valid
  // until the next call.
  const std::vector<Change>& take_changes();
  std::vector<uint64_t> take_changed();

  // Hands over the durable part of a line, which its base absorbs; a line with nothing pending is forgotten.
  Overlay absorb(uint64_t line);

 private:
  struct Slot {
    uint64_t line = 0;
    LineLog log;
  };
  struct Watch {
    uint32_t thread;
    NumberList lines;  // the lines that the thread's next fence may raise
  };
  LineLog* log_of(uint64_t line);
  uint32_t slot_of(uint64_t line) const;  // kNoSlot when there is none
  NumberList* watched_by(uint32_t thread);
  void changed(uint64_t line, bool raised) { changed_.add(line << 1 | (raised ? 1 : 0)); }

  static constexpr uint32_t kNoSlot = ~uint32_t{0};

  AtomPolicy policy_;
  // The number of the first piece of the last store; none if another event has come since.
  std::optional<uint64_t> last_store_;
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;                  // free indices into slots_
  absl::flat_hash_map<uint64_t, uint32_t> at_;  // line -> index into slots_
  // The line that was looked up last: a store, its flush and its fence come together.
  mutable uint64_t last_line_ = ~uint64_t{0};
  mutable uint32_t last_slot_ = kNoSlot;
  std::vector<Watch> watches_;  // one entry for each thread that ever flushed or stored around the cache
  NumberList changed_;          // line << 1 | raised
  std::vector<Change> changes_;
  std::vector<uint64_t> raised_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_MODELS_PENDING_LINES_H_
