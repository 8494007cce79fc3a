// What target code stores outside its stack and the heap that it allocates itself. A bystander whose reads these stores
// do not meet answers what it answered before (leaf_queries.h).
#ifndef POWERCUT_REPLAYER_EXECUTOR_WRITE_LOG_H_
#define POWERCUT_REPLAYER_EXECUTOR_WRITE_LOG_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "replayer/executor/read_log.h"
#include "replayer/undecided/undecided_memory.h"

namespace powercut {

struct WriteSet {
  absl::flat_hash_map<uint64_t, uint64_t> pool, heap;  // line -> bytes; of the heap, lines from heap_begin() on
  bool globals = false;
  bool empty() const { return pool.empty() && heap.empty() && !globals; }
};

class WriteLog {
 public:
  // Both outlive this.
  WriteLog(const UndecidedMemory* memory, const ReadLog* reads) : memory_(memory), reads_(reads) {}

  // Stores are noted from here on until end(), by one execution or by several.
  void begin() { noted_.emplace(); }
  void end() { noted_.reset(); }
  // Of an execution that is not undone yet, begun at `since`: the bytes that hold something else than before it, and
  // those that were overwritten and that are not in the read set. What they held is not known: on an image that the
  // execution cannot tell from this one it may be something else.
  WriteSet left(const UndecidedMemory::Mark& since) const;

  // For the hooks.
  void note(uint64_t address, uint64_t size) {
    if (noted_ && !memory_->is_fresh(address, size)) keep(address, size);
  }

 private:
  void keep(uint64_t address, uint64_t size);

  const UndecidedMemory* memory_;
  const ReadLog* reads_;
  std::optional<WriteSet> noted_;
};

}  // namespace powercut
#endif  // POWERCUT_REPLAYER_EXECUTOR_WRITE_LOG_H_
