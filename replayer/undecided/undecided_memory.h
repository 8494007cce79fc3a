// The memory of target code on a crash image: pool, heap and globals, of which some bytes of the pool are undecided.
//
// A pending line has candidates (LineSet), and memory shows the first that is still alive. A byte in which those alive
// differ, and which nothing has overwritten, is undecided: who reads it decides it first, and that keeps the candidates
// that agree. Whatever changes goes to a journal, old words and old sets of alive candidates, from which undo()
// restores a mark: a reset costs what was written.
#ifndef POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_MEMORY_H_
#define POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_MEMORY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "replayer/undecided/decisions.h"
#include "replayer/undecided/line_set.h"
#include "replayer/undecided/line_table.h"
#include "replayer/undecided/nested_cuts.h"
#include "tracer/world/arena.h"
#include "tracer/world/memory_range.h"
#include "tracer/world/pool_memory.h"

namespace powercut {

inline constexpr uint64_t kArenaSize = uint64_t{1} << 30;

// Target code may store there, but nothing of it lasts: each execution begins with 0, and the engine's own calls change
// it in between.
MemoryRange errno_range();

class UndecidedMemory {
 public:
  struct Options {
    uint64_t pool_size = 0;
    bool pool_is_mapped = false;  // by map_pool(), in this process or the one that it was forked from
    AtomPolicy policy = AtomPolicy::kAny;
    std::vector<MemoryRange> globals = {};  // the target's writable data
  };
  // Maps pool and heap at their addresses, back to back. `lines` outlives this.
  UndecidedMemory(const Options& options, LineTable* lines);
  ~UndecidedMemory();
  UndecidedMemory(const UndecidedMemory&) = delete;
  UndecidedMemory& operator=(const UndecidedMemory&) = delete;

  // The pool's bytes, for the engine.
  uint8_t* pool() const { return reinterpret_cast<uint8_t*>(bytes_.begin); }
  uint64_t pool_size() const { return options_.pool_size; }
  const MemoryRange& pool_range() const { return pool_; }  // as target code knows it
  const MemoryRange& heap_range() const { return heap_; }  // all that the heap may ever take
  const std::vector<MemoryRange>& globals() const { return options_.globals; }
  uint64_t heap_begin() const { return arena.begin; }
  // The live heap of the target.
  std::span<const uint8_t> heap() const;
  // Where the bytes at an address of target code's are.
  uint8_t* bytes_at(uint64_t address) const {
    return reinterpret_cast<uint8_t*>(address - kPoolBase < options_.pool_size ? address + kPoolShift : address);
  }

  // ---- the journal --------------------------------------------------------------------------------
  struct Mark {
    size_t words, decided, alive;
    uint64_t arena;
  };
  Mark mark() const { return {words_.size(), decided_.size(), alive_.size(), arena.top}; }
  void undo(const Mark& mark);
  // Keeps the words of a range of target code's addresses before they change.
  void keep_words(uint64_t address, uint64_t size);
  // A word at an address of the engine's.
  // Member by member: copying a pair that was just written in halves stalls.
  void keep_word(uint64_t address, uint64_t old) {
    Word& word = words_.emplace_back();
    word.address = address;
    word.old = old;
  }
  // Whether the journal has kept the word since it had `words` entries.
  bool has_kept(uint64_t address, size_t words) const;
  // Whether memory is as it was when the journal had `words` entries. A change of the word at `except` does not count.
  bool unchanged_since(size_t words, uint64_t except) const;
  // The oldest value of each word kept since the mark, by address.
  absl::flat_hash_map<uint64_t, uint64_t> before(const Mark& mark) const;
  // What an execution has done to memory since a mark, besides deciding: what its next instructions may find.
  struct Changes {
    struct Word {
      uint64_t address, value;
      uint8_t bytes;  // of a pending line, those that were stored to
      auto operator<=>(const Word&) const = default;
    };
    std::vector<Word> words;     // by address; of the heap that was there before, of globals and of the pool
    std::vector<uint8_t> fresh;  // the heap that it has allocated
    uint64_t high = 0, last = 0;
  };
  Changes changes_since(const Mark& mark) const;
  // Does to memory, where an execution has just begun, what another one has done from the same mark on: `narrowed`
  // lines have these candidates left.
  void do_again(const Changes& changes, const std::vector<Narrowed>& narrowed);
  uint64_t fresh_bytes() const { return arena.top - fresh_begin_; }
  // The words of the target's globals that were stored to since the mark, with their present values.
  std::vector<std::pair<uint64_t, uint64_t>> changed_globals(const Mark& since) const;

  // An execution begins; its heap grows from `heap_shift` bytes above all that was ever handed out, or with 0 from
  // where it ends.
  void begin_execution(uint64_t heap_shift);
  // In heap that this execution has allocated: undo() drops it, and its old words need not be kept.
  bool is_fresh(uint64_t address, uint64_t size) const { return fresh_.holds(address, size); }
  // With `all`, nothing counts as fresh until it is said again without (loop_watch.h compares through the journal).
  void keep_fresh(bool all);

  // ---- the first cut --------------------------------------------------------------------------
  // The undecided lines of a crash point, kept from one crash point to the next. `set` must stay where it is; null
  // makes the line definite: the pool holds it. Call it with nothing installed or executed on top.
  void set_base(uint64_t line, const LineSet* set);
  void clear_base();

  // ---- levels ---------------------------------------------------------------------------------
  // Makes `sets` the crash state: writes definite contents to the pool, marks the rest undecided. `sets`
  // must outlive the level. Levels nest; uninstall() undoes the last one.
  void install(const LineSets& sets);
  void uninstall();
  // The lines that a cut changes for the level below it; call with the level's initial state restored. All other
  // lines are there as they are here.
  std::vector<LineSet> child(const Cut& cut);
  // Whether some child had a line with more candidates than are kept.
  bool truncated() const { return truncated_; }

  // ---- target code reads and writes -------------------------------------------------------------
  // Of these bytes of a line, those that are undecided.
  uint64_t undecided(uint64_t line, uint64_t mask) const {
    const uint32_t slot = (*lines_)[line].slot;
    return slot == 0 ? 0 : undecided_[slot - 1].diff & mask;
  }
  // Whether the line had more than one candidate at the cut at hand.
  bool is_pending(uint64_t line) const { return (*lines_)[line].slot != 0; }
  // Branches over the distinct values of these undecided bytes, and keeps the candidates that show the chosen one.
  void decide(uint64_t line, uint64_t mask, Decisions* decisions);
  // The alive candidates of a pending line, by their value under the mask.
  std::vector<std::vector<uint32_t>> alive_by_value(uint64_t line, uint64_t mask);
  // A store of the target hides what the medium held at [offset, offset + size).
  void overwrite(uint64_t offset, uint64_t size);

  // ---- following a recovery without running it -----------------------------------------------------
  // `word`: the offset of an aligned word of the pool; `bytes`: which of its bytes.
  // Whether memory shows the value of these bytes; else they are undecided.
  bool definite(uint64_t word, uint8_t bytes) const {
    return undecided(word / kLineSize, uint64_t{bytes} << (word % kLineSize)) == 0;
  }
  uint64_t peek(uint64_t word, uint8_t bytes) const { return load_word(pool() + word) & spread(bytes); }
  // The distinct values that the alive candidates give these bytes, in the order of the candidates.
  void values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const;
  // Keeps the candidates that show `value`.
  void choose(uint64_t word, uint8_t bytes, uint64_t value);
  // Keeps the candidates that `keep` names, by index into the set's contents; ascending.
  void keep_only(uint64_t line, std::span<const uint32_t> keep);
  void replay_store(uint64_t offset, std::span<const uint8_t> bytes);
  // The target's heap as an execution left it.
  void set_heap(std::span<const uint8_t> heap);
  // A word of the target's globals.
  void set_word(uint64_t address, uint64_t value);

  // ---- what is decided ----------------------------------------------------------------------------
  // Lines that were narrowed since the journal had so many decisions (Mark), in the order of their first narrowing.
  std::vector<Narrowed> narrowed(size_t since_decided) const;
  // The candidates of the line that are still possible; none when it is definite.
  std::optional<Narrowed> alive_of(uint64_t line) const;
  // How many candidates a pending line has left.
  size_t alive_count(uint64_t line) const { return entry(line)->alive_count; }
  // Everything that the line may hold now: alive candidates under what was stored since, distinct.
  std::vector<Content> contents(uint64_t line) const;
  // Digest of everything that code can find in the bytes `mask` of `line` now: their value where it is definite,
  // else the set of values that the alive candidates give them together.
  Signature signature(uint64_t line, uint64_t mask) const;
  Signature globals_signature() const;
  // A digest of pool, globals and live heap (--paranoid).
  uint64_t digest() const;
  // The lines whose state may differ from that of the first cut: written, decided, or of a nested level; ascending.
  struct Touched {
    uint64_t line;
    Content before;  // what the pool held at the first cut
  };
  std::vector<Touched> touched() const;
  // The same of what was written and decided since a mark, each `before` of then.
  std::vector<Touched> touched_since(const Mark& mark) const;
  // Adds the words outside the pool and the fresh heap that were stored to since the mark, with what they held before.
  // Words that are there already keep their values.
  void other_words_since(const Mark& mark, absl::flat_hash_map<uint64_t, uint64_t>* words) const;
  // The heap that the execution at hand has allocated.
  std::span<const uint8_t> fresh() const {
    return {reinterpret_cast<const uint8_t*>(fresh_begin_), arena.top - fresh_begin_};
  }

 private:
  static constexpr uint32_t kAllAlive = ~uint32_t{0};
  struct Undecided {
    const LineSet* set;
    uint32_t alive_begin;  // index into alive_, or kAllAlive
    uint32_t alive_count;
    uint64_t diff;     // undecided bytes: alive candidates differ, and nothing has overwritten them
    uint64_t written;  // bytes that this execution overwrote
    uint64_t line;     // the set's, which may be gone when the entry is taken away
  };
  struct Level {
    size_t first_undecided;
    Mark mark;
    std::vector<std::pair<uint64_t, uint32_t>> old_slots;
  };
  struct Word {
    uint64_t address, old;  // of the pool: where its bytes are
  };
  struct Decided {
    uint32_t index;
    Undecided old;
  };
  // Null when the line is definite.
  const Undecided* entry(uint64_t line) const {
    const uint32_t slot = (*lines_)[line].slot;
    return slot == 0 ? nullptr : &undecided_[slot - 1];
  }
  uint32_t alive_at(const Undecided& u, uint32_t i) const {
    return u.alive_begin == kAllAlive ? i : alive_[u.alive_begin + i];
  }
  void hide(uint64_t line, uint64_t mask);
  void group_alive(const Undecided& entry, uint64_t mask);
  void narrow(const Undecided& entry, std::span<const uint32_t> alive);
  // The entry's alive candidates are those from `alive_begin` on: memory shows the first.
  void show(Undecided* entry, uint32_t alive_begin);
  void write_line(uint64_t line, const Content& content, uint64_t mask);

  Options options_;
  LineTable* lines_;
  MemoryRange pool_, bytes_, heap_;
  uint64_t fresh_begin_ = 0;  // of the heap that the execution at hand has allocated
  MemoryRange fresh_;         // what of it counts as fresh

  std::vector<Undecided> undecided_;
  std::vector<uint32_t> alive_;
  std::vector<Level> levels_;
  std::vector<Word> words_;
  std::vector<Decided> decided_;
  std::vector<uint32_t> groups_, representatives_;                            // of group_alive()
  absl::flat_hash_map<uint64_t, absl::InlinedVector<uint32_t, 1>> by_value_;  // the same, for large sets
  mutable absl::flat_hash_set<uint64_t> by_word_;                             // of values()
  mutable std::vector<uint64_t> seen_;                                        // of narrowed(): by entry, in which call
  mutable uint64_t calls_ = 0;
  bool truncated_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_MEMORY_H_
