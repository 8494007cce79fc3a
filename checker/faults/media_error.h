// An uncorrectable media error: a poisoned range of the pool, of which every load raises SIGBUS.
//
// The signal is a real one, queued to the thread itself before the load happens. It has the code and the address that
// the kernel gives for consumed poison (BUS_MCEERR_AR). Whoever handles SIGBUS gets it: the executor, which ends the
// execution, or a handler that the target installed and leaves by a jump. When such a handler returns, the processor
// would repeat the load and meet the poison again; the executor therefore gets the second signal.
//
// Known inaccuracies: a store neither raises the signal nor heals the block (a real one may, if it replaces the
// whole line); a load of a processor that runs ahead raises nothing here either.
#ifndef POWERCUT_CHECKER_FAULTS_MEDIA_ERROR_H_
#define POWERCUT_CHECKER_FAULTS_MEDIA_ERROR_H_

#include <csignal>

#include "replayer/executor/executor.h"
#include "tracer/world/sink_in_front.h"

namespace powercut {

inline constexpr uint64_t kMediaBlock = 256;  // bytes: the unit in which persistent memory corrects errors

class MediaError final : public SinkInFront {
 public:
  // Create the MediaError after the executor: it falls back to the executor's handler of SIGBUS.
  MediaError();
  ~MediaError() override;

  // Poisons a range of addresses in place of the one before.
  void poison(MemoryRange range) { poisoned_ = range, hits_ = 0, stack_.clear(); }
  // Nothing is poisoned any more, and the executor handles SIGBUS again.
  void heal();
  // Loads of poison since it was put there. More than an execution's own end: some were survived.
  uint64_t hits() const { return hits_; }
  // Call stack of the first such load.
  const std::vector<uint64_t>& stack() const { return stack_; }

 protected:
  void on_load(uint64_t address, uint64_t size, CodePlace place) override { check(address, size, place); }
  void on_rmw_begin(uint64_t address, uint64_t size, CodePlace place) override { check(address, size, place); }

 private:
  void check(uint64_t address, uint64_t size, CodePlace place);
  void raise_at(uint64_t address);

  MemoryRange poisoned_;
  uint64_t hits_ = 0;
  std::vector<uint64_t> stack_;
  struct sigaction own_{};
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_MEDIA_ERROR_H_
