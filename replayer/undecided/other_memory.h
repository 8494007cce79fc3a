// Memory of the target besides the pool, as it was before an execution. Uninstrumented code stores to it unseen; what
// it changed is found by comparison, and joins the journal. Kept once such code was met, since it costs a copy each
// time.
#ifndef POWERCUT_REPLAYER_UNDECIDED_OTHER_MEMORY_H_
#define POWERCUT_REPLAYER_UNDECIDED_OTHER_MEMORY_H_

#include <cstdint>
#include <vector>

#include "replayer/undecided/undecided_memory.h"

namespace powercut {

class OtherMemory {
 public:
  // Heap and globals as they are now.
  void keep(const UndecidedMemory& memory);
  // Puts what has changed since keep(), unknown to the journal, into it.
  void note_changes(UndecidedMemory* memory);

 private:
  bool kept_ = false;
  size_t journal_ = 0;  // its length at keep()
  std::vector<MemoryRange> ranges_;
  std::vector<uint8_t> bytes_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_UNDECIDED_OTHER_MEMORY_H_
