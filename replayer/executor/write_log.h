// A log of the stores of target code outside its stack and outside the heap that an execution allocates itself. If
// these stores do not meet a bystander's reads, its answer is the earlier one (leaf_queries.h).
#ifndef POWERCUT_REPLAYER_EXECUTOR_WRITE_LOG_H_
#define POWERCUT_REPLAYER_EXECUTOR_WRITE_LOG_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "replayer/executor/read_log.h"
#include "replayer/undecided/undecided_memory.h"

namespace powercut {

struct WriteSet {
  absl::flat_hash_map<uint64_t, uint64_t> pool, heap;  // line -> mask of bytes; lines of the heap count from
                                                       // heap_begin()
  bool globals = false;
  bool empty() const { return pool.empty() && heap.empty() && !globals; }
};

class WriteLog {
 public:
  // Both arguments outlive this object.
  WriteLog(const UndecidedMemory* memory, const ReadLog* reads) : memory_(memory), reads_(reads) {}

  // Notes stores from here on until end(), by one execution or by several.
  void begin() { noted_.emplace(); }
  void end() { noted_.reset(); }
  // Returns the bytes that an execution has left changed. The execution began at `since` and is not undone yet. The
  // result also has overwritten bytes that are not in the read set. The earlier value of such a byte is not known: it
  // may differ on another image that the execution cannot tell from this one.
  WriteSet left(const UndecidedMemory::Mark& since) const;

  // Notes a store; called by the hooks.
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
