// Pool, heap and globals of the target, at the addresses that target code knows, with a journal of the words that
// change. The function undo() restores the words that have changed since a mark, so a reset costs as much as was
// written. The heap that the execution at hand has allocated is *fresh*: undo() drops fresh heap as a whole, and its
// words need not be kept.
#ifndef POWERCUT_REPLAYER_UNDECIDED_JOURNALED_MEMORY_H_
#define POWERCUT_REPLAYER_UNDECIDED_JOURNALED_MEMORY_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replayer/undecided/line_set.h"
#include "tracer/world/arena.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_memory.h"

namespace powercut {

inline constexpr uint64_t kArenaSize = uint64_t{1} << 30;

// Returns the range of errno. Target code may store to errno, but no value lasts: each execution begins with 0, and the
// engine's own calls change errno between executions.
MemoryRange errno_range();

class JournaledMemory {
 public:
  struct Options {
    uint64_t pool_size = 0;
    bool pool_is_mapped = false;  // by map_pool(), in this process or in its parent before fork()
    AtomPolicy policy = AtomPolicy::kAny;
    std::vector<MemoryRange> globals = {};  // the target's writable data
  };
  // Maps pool and heap at their addresses, back to back.
  explicit JournaledMemory(const Options& options);
  ~JournaledMemory();
  JournaledMemory(const JournaledMemory&) = delete;
  JournaledMemory& operator=(const JournaledMemory&) = delete;

  // The pool's bytes, for the engine.
  uint8_t* pool() const { return reinterpret_cast<uint8_t*>(bytes_.begin); }
  uint64_t pool_size() const { return options_.pool_size; }
  const MemoryRange& pool_range() const { return pool_; }  // as target code knows it
  const MemoryRange& heap_range() const { return heap_; }  // all that the heap may ever take
  const std::vector<MemoryRange>& globals() const { return options_.globals; }
  uint64_t heap_begin() const { return arena.begin; }
  // Returns the live heap of the target.
  std::span<const uint8_t> heap() const;
  // Returns the engine's address of the bytes that target code knows at `address`.
  uint8_t* bytes_at(uint64_t address) const {
    return reinterpret_cast<uint8_t*>(address - kPoolBase < options_.pool_size ? address + kPoolShift : address);
  }

  // ---- the journal --------------------------------------------------------------------------------
  struct Mark {
    size_t words;
    uint64_t arena;
  };
  // Keeps the words of a range of target code's addresses before they change.
  void keep_words(uint64_t address, uint64_t size);
  // Keeps a word at an address of the engine's. The entry is written member by member: copying a pair that was just //
  // written in halves stalls.
  void keep_word(uint64_t address, uint64_t old) {
    Word& word = words_.emplace_back();
    word.address = address;
    word.old = old;
  }
  // Returns whether the journal has kept the word since the journal had `words` entries.
  bool has_kept(uint64_t address, size_t words) const;
  // Returns whether memory is as it was when the journal had `words` entries. A change of the word at `except` does not
  // count.
  bool unchanged_since(size_t words, uint64_t except) const;
  // Returns the oldest value of each word kept since the mark, by address.
  absl::flat_hash_map<uint64_t, uint64_t> before(const Mark& mark) const;
  // Returns the words of the target's globals that were stored to since the mark, with their present values.
  std::vector<std::pair<uint64_t, uint64_t>> changed_globals(const Mark& since) const;
  // Adds to `words` the words outside the pool and the fresh heap that were stored to since the mark, with their values
  // before. Words that `words` already has keep their values.
  void other_words_since(const Mark& mark, absl::flat_hash_map<uint64_t, uint64_t>* words) const;

  // ---- the heap of an execution -------------------------------------------------------------------
  // Begins an execution. Its heap grows from `heap_shift` bytes above all heap that was ever handed out; with 0, from
  // the end of the heap.
  void begin_execution(uint64_t heap_shift);
  // Returns whether a range lies in heap that this execution has allocated. Such heap is dropped by undo(), and its old
  // words need not be kept.
  bool is_fresh(uint64_t address, uint64_t size) const { return fresh_.holds(address, size); }
  // With `all`, no heap counts as fresh until the next call without `all`. A loop watch needs this, since it compares
  // through the journal.
  void keep_fresh(bool all);
  uint64_t fresh_bytes() const { return arena.top - fresh_begin_; }
  // Returns the heap that the execution at hand has allocated.
  std::span<const uint8_t> fresh() const {
    return {reinterpret_cast<const uint8_t*>(fresh_begin_), arena.top - fresh_begin_};
  }

  // ---- following an execution without running it --------------------------------------------------
  // Sets the target's heap to the bytes that an execution left.
  void set_heap(std::span<const uint8_t> heap);
  // Sets a word of the target's globals.
  void set_word(uint64_t address, uint64_t value);

  Signature globals_signature() const;
  // Returns a digest of pool, globals and live heap (--paranoid).
  uint64_t digest() const;

 protected:
  struct Word {
    uint64_t address, old;  // address of the engine's, also for words of the pool
  };
  // Restores the words and the heap of a mark.
  void undo_words(const Mark& mark);
  // Gives the bytes `mask` of a line of the pool their values in `content`.
  void write_line(uint64_t line, const Content& content, uint64_t mask);
  // Returns whether the word at an address does not outlive the execution at hand.
  bool is_passing(uint64_t address) const;

  const Options options_;
  MemoryRange pool_, bytes_, heap_;
  std::vector<Word> words_;
  uint64_t fresh_begin_ = 0;  // address at which the fresh heap begins

 private:
  MemoryRange fresh_;  // the part of the heap that counts as fresh
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_JOURNALED_MEMORY_H_
