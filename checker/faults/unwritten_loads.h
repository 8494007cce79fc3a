// Stale contents: bytes of a fresh pool that nobody has initialised. Follows which bytes of the pool were stored to.
// Keeps the place of the first load, in each line, of a byte that was not stored.
#ifndef POWERCUT_CHECKER_FAULTS_UNWRITTEN_LOADS_H_
#define POWERCUT_CHECKER_FAULTS_UNWRITTEN_LOADS_H_

#include <map>
#include <span>
#include <vector>

#include "replayer/executor/executor.h"
#include "tracer/world/sink_in_front.h"

namespace powercut {

class UnwrittenLoads final : public SinkInFront {
 public:
  struct First {
    uint64_t mask = 0;            // bytes of the line that were loaded and never stored to
    std::vector<uint64_t> stack;  // of the first of these loads
  };

  explicit UnwrittenLoads(MemoryRange pool);

  // Stores between these two calls do not count afterwards: the executor takes them back.
  void begin_undone() { undoing_ = true; }
  void end_undone();
  // Starts with a pool that nobody has stored to.
  void reset();

  const std::map<uint64_t, First>& lines() const { return lines_; }

 protected:
  void on_load(uint64_t address, uint64_t size, CodePlace place) override;
  void on_store(uint64_t address, uint64_t size, uint32_t, const void*, CodePlace) override { store(address, size); }
  void on_rmw_begin(uint64_t address, uint64_t size, CodePlace place) override { on_load(address, size, place); }
  void on_rmw_end(uint64_t address, uint64_t size, uint32_t stored, CodePlace) override {
    if (stored != 0) store(address, size);
  }

 private:
  void store(uint64_t address, uint64_t size);

  const MemoryRange pool_;
  std::vector<uint64_t> stored_;  // by line: bytes that were stored to
  std::vector<std::pair<uint64_t, uint64_t>> old_;
  bool undoing_ = false;
  std::map<uint64_t, First> lines_;
};

// Fills bytes with what a seed gives; `seed` 0 is all ones, which no counter, offset or flag word is by accident.
void fill_noise(std::span<uint8_t> bytes, uint64_t seed);

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_UNWRITTEN_LOADS_H_
