// The pending lines of a crash state: the candidates of each line that are still alive, and the bytes in which they
// differ. A decision keeps the alive candidates that show one value; a store of the target hides bytes of the medium.
// Decisions and stores enter a journal of whole entries, so that undo() restores the entries. This class does not touch
// the bytes of memory.
#ifndef POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_LINES_H_
#define POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_LINES_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "replayer/undecided/line_set.h"
#include "replayer/undecided/line_table.h"

namespace powercut {

// Returns the mask of a line widened: each bit becomes a byte of ones, in eight words.
std::array<uint64_t, 8> wide_mask(uint64_t mask);
// Returns the bytes under a mask; all other bytes are zero.
Content under(const uint8_t* bytes, const std::array<uint64_t, 8>& wide);

class UndecidedLines {
 public:
  static constexpr uint32_t kAllAlive = ~uint32_t{0};
  struct Entry {
    const LineSet* set;
    uint32_t alive_begin;  // index into the alive candidates of all entries, or kAllAlive
    uint32_t alive_count;
    uint64_t diff;     // undecided bytes: alive candidates differ, and nothing has overwritten them
    uint64_t written;  // bytes that this execution overwrote
    uint64_t line;     // the set's number; the set may be gone when the entry is dropped
  };
  struct Mark {
    size_t decided, alive;
  };
  // `table` outlives this object; the slots of the table's lines belong to this object.
  explicit UndecidedLines(LineTable* table) : table_(table) {}

  // ---- which lines are pending -----------------------------------------------------------------------
  // Returns the entry of a line; null if the line is definite.
  const Entry* find(uint64_t line) const {
    const uint32_t slot = (*table_)[line].slot;
    return slot == 0 ? nullptr : &entries_[slot - 1];
  }
  size_t size() const { return entries_.size(); }
  void add(const LineSet* set);
  // Drops the entries from number `size` on; the caller sets the slots of their lines.
  void drop_to(size_t size) { entries_.resize(size); }
  uint32_t slot_of(uint64_t line) const { return (*table_)[line].slot; }
  void set_slot(uint64_t line, uint32_t slot) { (*table_)[line].slot = slot; }
  // Changes one line of the first cut; null makes it definite.
  void set_base(uint64_t line, const LineSet* set);
  void clear_base();

  // ---- deciding --------------------------------------------------------------------------------------
  Mark mark() const { return {decided_.size(), alive_.size()}; }
  void undo(const Mark& mark);
  // Returns the undecided bytes among the bytes `mask` of a line.
  uint64_t undecided(uint64_t line, uint64_t mask) const {
    const Entry* entry = find(line);
    return entry == nullptr ? 0 : entry->diff & mask;
  }
  // Sorts the alive candidates by their value under the mask; returns how many values there are.
  uint32_t group(const Entry& entry, uint64_t mask);
  // Keeps the candidates of one value of the last group().
  const Entry& keep_group(const Entry& entry, uint32_t group);
  const Entry& keep(const Entry& entry, std::span<const uint32_t> alive);
  // Keeps the candidates that `keep` names, by index into the set's contents; ascending.
  const Entry& keep_only(const Entry& entry, std::span<const uint32_t> keep);
  // Notes that a store covers these bytes of a line.
  void hide(uint64_t line, uint64_t mask);

  // ---- what is alive ---------------------------------------------------------------------------------
  uint32_t alive_at(const Entry& entry, uint32_t i) const {
    return entry.alive_begin == kAllAlive ? i : alive_[entry.alive_begin + i];
  }
  const Content& alive_content(const Entry& entry, uint32_t i) const { return entry.set->contents[alive_at(entry, i)]; }
  Narrowed alive_of(const Entry& entry) const;
  std::vector<std::vector<uint32_t>> alive_by_value(const Entry& entry, uint64_t mask);
  // Puts into `out` the distinct values that the alive candidates give these bytes of a word, in the order of the
  // candidates.
  void values(uint64_t word, uint8_t bytes, std::vector<uint64_t>* out) const;
  // Returns the lines that were narrowed since the journal had `since_decided` decisions, in the order of their first
  // narrowing.
  std::vector<Narrowed> narrowed(size_t since_decided) const;
  // Calls `use` with the line of each entry of the journal from `since_decided` on. A line that was decided repeatedly
  // comes repeatedly.
  template <typename Use>
  void for_each_decided(size_t since_decided, const Use& use) const {
    for (size_t i = since_decided; i < decided_.size(); ++i) use(entries_[decided_[i].index].set->line);
  }

 private:
  struct Decided {
    uint32_t index;
    Entry old;
  };
  static Entry untouched(const LineSet* set) {
    return {set, kAllAlive, static_cast<uint32_t>(set->contents.size()), set->diff, 0, set->line};
  }
  uint32_t index_of(const Entry& entry) const { return static_cast<uint32_t>(&entry - entries_.data()); }
  // Makes the candidates from `alive_begin` on the alive candidates of the entry.
  const Entry& take_alive(uint32_t index, uint32_t alive_begin);

  LineTable* table_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> alive_;
  std::vector<Decided> decided_;
  std::vector<uint32_t> groups_, representatives_;                            // of group()
  absl::flat_hash_map<uint64_t, absl::InlinedVector<uint32_t, 1>> by_value_;  // of group(), for large sets
  mutable absl::flat_hash_set<uint64_t> by_word_;                             // of values()
  mutable std::vector<uint64_t> seen_;                                        // of narrowed(): by entry, the number of
                                                                              // the call that saw it
  mutable uint64_t calls_ = 0;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_UNDECIDED_LINES_H_
