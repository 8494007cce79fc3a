// The memory of target code on a crash image: pool, heap and globals, of which some bytes of the pool are undecided.
//
// A pending line has candidates (LineSet), and memory shows the first candidate that is still alive. A byte is
// undecided if the alive candidates differ in it and nothing has overwritten it. A read of an undecided byte decides it
// first: only the candidates that agree stay alive. This class joins two halves: the bytes and their journal
// (journaled_memory.h), and the candidates and their journal (undecided_lines.h).
#ifndef POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_MEMORY_H_
#define POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_MEMORY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "replayer/undecided/decisions.h"
#include "replayer/undecided/journaled_memory.h"
#include "replayer/undecided/line_set.h"
#include "replayer/undecided/line_table.h"
#include "replayer/undecided/nested_cuts.h"
#include "replayer/undecided/undecided_lines.h"

namespace powercut {

class UndecidedMemory : public JournaledMemory {
 public:
  // `table` outlives this.
  UndecidedMemory(const Options& options, LineTable* table) : JournaledMemory(options), lines_(table) {}

  // ---- the journal --------------------------------------------------------------------------------
  struct Mark : JournaledMemory::Mark, UndecidedLines::Mark {};
  Mark mark() const { return {{words_.size(), arena.top}, lines_.mark()}; }
  void undo(const Mark& mark) {
    undo_words(mark);
    lines_.undo(mark);
  }
  // All changes of memory that an execution has made since a mark, besides decisions: its next instructions may find
  // them.
  struct Changes {
    struct Word {
      uint64_t address, value;
      uint8_t bytes;  // mask; in a pending line, the bytes that were stored to
      auto operator<=>(const Word&) const = default;
    };
    std::vector<Word> words;     // by address: words of the earlier heap, of globals and of the pool
    std::vector<uint8_t> fresh;  // the heap that the execution has allocated
    uint64_t high = 0, last = 0;
  };
  Changes changes_since(const Mark& mark) const;
  // Repeats the changes of an earlier execution from the same mark on; call it when an execution has just begun.
  // `narrowed`: the lines that are narrowed, with the candidates that are left.
  void do_again(const Changes& changes, const std::vector<Narrowed>& narrowed);

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
  // Returns the lines that a cut changes for the level below the cut; call it with the level's initial state restored.
  // All other lines are the same on both levels.
  std::vector<LineSet> child(const Cut& cut);
  // Returns whether some child had a line with more candidates than are kept.
  bool truncated() const { return truncated_; }

  // ---- target code reads and writes -------------------------------------------------------------
  // Returns the undecided bytes among the bytes `mask` of a line.
  uint64_t undecided(uint64_t line, uint64_t mask) const { return lines_.undecided(line, mask); }
  // Returns whether the line had more than one candidate at the cut at hand.
  bool is_pending(uint64_t line) const { return lines_.slot_of(line) != 0; }
  // Branches over the distinct values of these undecided bytes, and keeps the candidates that show the chosen one.
  void decide(uint64_t line, uint64_t mask, Decisions* decisions);
  // Returns the alive candidates of a pending line, grouped by their value under the mask.
  std::vector<std::vector<uint32_t>> alive_by_value(uint64_t line, uint64_t mask) {
    return lines_.alive_by_value(*lines_.find(line), mask);
  }
  // Notes that a store of the target hides the medium's bytes at [offset, offset + size).
  void overwrite(uint64_t offset, uint64_t size);

  // ---- following a recovery without running it -----------------------------------------------------
  // `word`: the offset of an aligned word of the pool; `bytes`: which of its bytes.
  // Returns whether memory shows the value of these bytes; else they are undecided.
  bool definite(uint64_t word, uint8_t bytes) const {
    return undecided(word / kLineSize, uint64_t{bytes} << (word % kLineSize)) == 0;
  }
  uint64_t peek(uint64_t word, uint8_t bytes) const { return load_word(pool() + word) & spread(bytes); }
  // Puts into `out` the distinct values that the alive candidates give these bytes, in the order of the candidates.
  void values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const { lines_.values(word, bytes, out); }
  // Keeps the candidates that show `value`.
  void choose(uint64_t word, uint8_t bytes, uint64_t value);
  // Keeps the candidates that `keep` names, by index into the set's contents; ascending.
  void keep_only(uint64_t line, std::span<const uint32_t> keep) { show(lines_.keep_only(*lines_.find(line), keep)); }
  void replay_store(uint64_t offset, std::span<const uint8_t> bytes);

  // ---- what is decided ----------------------------------------------------------------------------
  // Returns the lines that were narrowed since the journal had `since_decided` decisions (Mark), in the order of their
  // first narrowing.
  std::vector<Narrowed> narrowed(size_t since_decided) const { return lines_.narrowed(since_decided); }
  // Returns the candidates of the line that are still possible; nothing if the line is definite.
  std::optional<Narrowed> alive_of(uint64_t line) const;
  // Returns how many candidates a pending line has left.
  size_t alive_count(uint64_t line) const { return lines_.find(line)->alive_count; }
  // Returns the distinct contents that the line may hold now: each alive candidate, with all later stores laid over it.
  std::vector<Content> contents(uint64_t line) const;
  // Returns a digest of all that code can find in the bytes `mask` of `line` now. It covers their value if they are
  // definite; otherwise it covers the set of values that the alive candidates give to the bytes together.
  Signature signature(uint64_t line, uint64_t mask) const;
  // A line whose state may differ from the first cut: written, decided, or of a nested level. The functions return such
  // lines ascending.
  struct Touched {
    uint64_t line;
    Content before;  // the pool's content at the first cut, or at the mark
  };
  std::vector<Touched> touched() const { return touched_since({}); }
  // Returns the lines that were written or decided since a mark; `before` is the content at the mark.
  std::vector<Touched> touched_since(const Mark& mark) const;

 private:
  struct Level {
    size_t first_undecided;
    Mark mark;
    std::vector<std::pair<uint64_t, uint32_t>> old_slots;
  };
  // Writes the first alive candidate of the entry to memory, except for bytes that were stored over.
  void show(const UndecidedLines::Entry& entry);

  UndecidedLines lines_;
  std::vector<Level> levels_;
  bool truncated_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_MEMORY_H_
