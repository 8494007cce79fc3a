// The memory of target code on a crash image: pool, heap and globals, of which some bytes of the pool are undecided.
//
// A pending line has candidates (LineSet), and memory shows the first that is still alive. A byte in which those alive
// differ, and which nothing has overwritten, is undecided: who reads it decides it first, and that keeps the candidates
// that agree. This class joins the two halves: the bytes and their journal (journaled_memory.h), and the candidates and
// theirs (undecided_lines.h).
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
  uint64_t undecided(uint64_t line, uint64_t mask) const { return lines_.undecided(line, mask); }
  // Whether the line had more than one candidate at the cut at hand.
  bool is_pending(uint64_t line) const { return lines_.slot_of(line) != 0; }
  // Branches over the distinct values of these undecided bytes, and keeps the candidates that show the chosen one.
  void decide(uint64_t line, uint64_t mask, Decisions* decisions);
  // The alive candidates of a pending line, by their value under the mask.
  std::vector<std::vector<uint32_t>> alive_by_value(uint64_t line, uint64_t mask) {
    return lines_.alive_by_value(*lines_.find(line), mask);
  }
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
  void values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const { lines_.values(word, bytes, out); }
  // Keeps the candidates that show `value`.
  void choose(uint64_t word, uint8_t bytes, uint64_t value);
  // Keeps the candidates that `keep` names, by index into the set's contents; ascending.
  void keep_only(uint64_t line, std::span<const uint32_t> keep) { show(lines_.keep_only(*lines_.find(line), keep)); }
  void replay_store(uint64_t offset, std::span<const uint8_t> bytes);

  // ---- what is decided ----------------------------------------------------------------------------
  // Lines that were narrowed since the journal had so many decisions (Mark), in the order of their first narrowing.
  std::vector<Narrowed> narrowed(size_t since_decided) const { return lines_.narrowed(since_decided); }
  // The candidates of the line that are still possible; none when it is definite.
  std::optional<Narrowed> alive_of(uint64_t line) const;
  // How many candidates a pending line has left.
  size_t alive_count(uint64_t line) const { return lines_.find(line)->alive_count; }
  // Everything that the line may hold now: alive candidates under what was stored since, distinct.
  std::vector<Content> contents(uint64_t line) const;
  // Digest of everything that code can find in the bytes `mask` of `line` now: their value where it is definite,
  // else the set of values that the alive candidates give them together.
  Signature signature(uint64_t line, uint64_t mask) const;
  // The lines whose state may differ from that of the first cut: written, decided, or of a nested level; ascending.
  struct Touched {
    uint64_t line;
    Content before;  // what the pool held at the first cut
  };
  std::vector<Touched> touched() const { return touched_since({}); }
  // The same of what was written and decided since a mark, each `before` of then.
  std::vector<Touched> touched_since(const Mark& mark) const;

 private:
  struct Level {
    size_t first_undecided;
    Mark mark;
    std::vector<std::pair<uint64_t, uint32_t>> old_slots;
  };
  // Memory shows the first alive candidate of the entry, where nothing was stored over it.
  void show(const UndecidedLines::Entry& entry);

  UndecidedLines lines_;
  std::vector<Level> levels_;
  bool truncated_ = false;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_MEMORY_H_
