// The words that target code has changed, so that memory can return to an earlier state and two states can be compared.
// A step keeps the old value of each word before a store changes the word; undo() puts the old values back. The digest
// is a sum over the words that differ from the beginning, each once. It is therefore the same on every way to the same
// memory.
#ifndef POWERCUT_CHECKER_SCHEDULES_WORD_JOURNAL_H_
#define POWERCUT_CHECKER_SCHEDULES_WORD_JOURNAL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "replayer/schedules/machine.h"
#include "replayer/undecided/line_set.h"
#include "tracer/runtime/hooks/call_site.h"

namespace powercut {

inline uint64_t word_at(uint64_t address) { return load_word(reinterpret_cast<const uint8_t*>(address)); }
// Returns the engine's own address of the bytes that target code knows at `address`.
inline uint64_t place_of_target(uint64_t address) {
  return reinterpret_cast<uint64_t>(runtime::place_of(reinterpret_cast<const void*>(address)));
}

class WordJournal {
 public:
  size_t size() const { return words_.size(); }
  const Digest& digest() const { return digest_; }
  void begin_step() { step_begin_ = words_.size(); }
  // Keeps the words of a range of the engine's addresses before the words change.
  void keep(uint64_t begin, uint64_t size);
  // Takes over the words that the step has changed: each word once, whatever it held in between.
  void end_step();
  // Puts memory back to the state in which the journal had `size` words and this digest.
  void undo(size_t size, const Digest& digest);

 private:
  struct Word {
    uint64_t address, old;
  };
  std::vector<Word> words_;
  size_t step_begin_ = 0;
  std::vector<std::pair<uint64_t, size_t>> scratch_;  // address, place in the journal
  Digest digest_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_WORD_JOURNAL_H_
