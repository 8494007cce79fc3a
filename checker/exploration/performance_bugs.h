// Flushes and fences that had nothing to do, and stores that were not durable when the run ended (checker/ORACLE.md,
// "Performance bugs").
//
// redundant-flush: the line has no store that this flush could make durable: the line is clean, or this thread has
// flushed it since its last store. If another thread has flushed the line and not fenced yet, that flush serves the
// other thread's fence alone. redundant-fence: an sfence or mfence with no flush and no non-temporal store of its
// thread to wait for; of a device, a flush with nothing written since the one before. Both kinds are told by call
// stack, since a helper that flushes is called from everywhere; stacks beyond kMostStacks are told by instruction.
// never-persisted: stores of one instruction, whatever called it, that were not durable as a whole when the trace
// ended.
//
// Not told are events that serve another purpose. An mfence that never has anything to wait for orders the accesses of
// threads. The kernel's flushes are for the size of a file (kSizeMarker). Events without a stack are not told either:
// they are the contents of the pools before the run.
//
// Known inaccuracy: stores and flushes outside of the pools are not in the trace. A fence for such stores, for instance
// behind `_mm_stream_si128` to ordinary memory, counts as redundant.
#ifndef POWERCUT_CHECKER_EXPLORATION_PERFORMANCE_BUGS_H_
#define POWERCUT_CHECKER_EXPLORATION_PERFORMANCE_BUGS_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "replayer/models/model.h"
#include "tracer/format/reader.h"

namespace powercut {

struct PerformanceBug {
  std::string_view kind;  // redundant-flush, redundant-fence, never-persisted
  std::string_view message;
  uint64_t count = 0;              // events that did nothing
  uint64_t of = 0;                 // all flushes, fences or stores that were made there
  uint32_t stack = 0;              // of the first
  uint64_t offset = 0, event = 0;  // of the first
};

// Call stacks that store, and call stacks that flush, ascending: a function that only ever flushes is a helper
// (powercut/symbols/flush_helpers.py).
struct Persisting {
  std::vector<uint32_t> stores, flushes;  // the latter are of fences, too, and at most kMostStacks
};

// Facts about the pools of a program that its trace does not tell.
struct PoolUse {
  std::vector<std::pair<uint64_t, uint64_t>> volatile_parts;  // [begin, end), by the program's own word
  // The word that has the size of a file that is a device. The model makes it durable at once; a program has to sync.
  std::optional<uint64_t> size_word;
};

class PerformanceBugs {
 public:
  static constexpr size_t kMostStacks = 1 << 14;

  explicit PerformanceBugs(const TraceReader& reader, PoolUse use = {});

  void apply(const Event& event);
  // Returns the bugs by kind, then in the order of the run. `model` has seen the same events.
  std::vector<PerformanceBug> finish(const Model& model);
  Persisting persisting() const;

 private:
  // The flushes and fences of one call stack, or of one instruction, and the number that did nothing.
  struct Way {
    PerformanceBug flushes, fences;
  };
  struct Site : Way {
    PerformanceBug stores;
    bool mfence = false, waited = false;  // whether it is an mfence, and whether it ever had something to wait for
  };
  // A line with stores that are not durable yet.
  struct Dirty {
    uint8_t words = 0;                                 // those stored to
    absl::InlinedVector<uint32_t, 2> flushed_by = {};  // threads whose next fence makes the line durable
  };

  void store(const Event& event);
  void flush(const Event& event);
  void fence(const Event& event);
  // The instruction that stores, flushes or fences: the innermost frame outside of libraries that do so for everybody,
  // whoever called. Unknown stacks share site 0.
  size_t site_of(uint32_t stack);
  Way& way(uint32_t stack);
  bool serves_everybody(const Frame& frame) const;
  // Bytes of a line that are not persistent.
  uint64_t left_out(uint64_t line) const;

  const TraceReader& reader_;
  const PoolUse use_;
  std::vector<Site> sites_;
  absl::flat_hash_map<std::pair<uint32_t, uint64_t>, size_t> by_place_;  // module and offset
  absl::flat_hash_map<uint32_t, size_t> by_stack_;
  absl::flat_hash_map<uint32_t, Way> ways_;  // by stack
  absl::flat_hash_set<uint32_t> store_stacks_;
  absl::flat_hash_map<uint64_t, Dirty> dirty_;
  absl::flat_hash_map<uint32_t, std::vector<uint64_t>> flushed_;  // by thread: lines, since its last fence
  absl::flat_hash_set<uint32_t> waiting_;
  std::optional<uint32_t> for_size_;  // the thread whose flushes and fences are there for a file's size
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_EXPLORATION_PERFORMANCE_BUGS_H_
