// A copy of the target's memory besides the pool, from before an execution. Uninstrumented code stores to this memory
// unseen; its changes are found by comparison, and join the journal. The copy is made only after such code was met,
// since each copy takes time.
#ifndef POWERCUT_REPLAYER_UNDECIDED_OTHER_MEMORY_H_
#define POWERCUT_REPLAYER_UNDECIDED_OTHER_MEMORY_H_

#include <cstdint>
#include <vector>

#include "replayer/undecided/undecided_memory.h"

namespace powercut {

class OtherMemory {
 public:
  // Copies the present heap and globals.
  void keep(const UndecidedMemory& memory);
  // Adds to the journal the words that have changed since keep() unknown to the journal.
  void note_changes(UndecidedMemory* memory);

 private:
  bool kept_ = false;
  size_t journal_ = 0;  // its length at keep()
  std::vector<MemoryRange> ranges_;
  std::vector<uint8_t> bytes_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_OTHER_MEMORY_H_
