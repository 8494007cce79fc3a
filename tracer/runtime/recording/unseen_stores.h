// The net under the hooks: what a program's pools hold is compared with what the recorded stores say, so that a store
// that nobody announced (of a library that was built without the compiler pass, of the kernel) does not pass for
// nothing.
//
// Pages that were stored to are looked at each time. All others that are in memory are looked at as well where they are
// few, and otherwise as often as that takes a twentieth of the recording's time at most; at an unmapping, and at the
// end, always. What was changed and changed back between two looks is not noticed.
//
// Not thread-safe: session.cc holds its lock around every call.
#ifndef POWERCUT_TRACER_RUNTIME_RECORDING_UNSEEN_STORES_H_
#define POWERCUT_TRACER_RUNTIME_RECORDING_UNSEEN_STORES_H_

#include <cstdint>
#include <map>
#include <span>
#include <unordered_set>
#include <vector>

#include "tracer/stream/pool_shadow.h"
#include "tracer/stream/pools.h"

namespace powercut::runtime {

class UnseenStores {
 public:
  enum class Where { kStored, kAll };
  // By pool.
  using Differences = std::map<uint32_t, PoolDifference>;

  // `ranges`: where the pools are mapped; it outlives this.
  explicit UnseenStores(const powercut_ranges* ranges) : ranges_(ranges) {}

  // What recorded stores made of a pool. `address`: where it was stored to; 0 when through no mapping.
  void store(uint32_t pool, uint64_t offset, std::span<const uint8_t> bytes, uint64_t address);
  void zero_from(uint32_t pool, uint64_t offset) { shadow_.zero_from(pool, offset); }

  // What differs now; it is taken over. With `others`, threads may not have carried out yet what they have announced:
  // they are waited for.
  Differences look(Where where, bool others);
  // The same for all of [address, address + length).
  Differences look_at(uint64_t address, uint64_t length, bool others);
  // Whether look(kAll) takes little now.
  bool affords_all() const;

 private:
  struct Piece {
    uint64_t address, length;
  };
  // The pages of [begin, end) that are in memory.
  static void add_resident(uint64_t begin, uint64_t end, std::vector<Piece>* pieces);
  Differences compare(const std::vector<Piece>& pieces, bool others);

  const powercut_ranges* ranges_;
  PoolShadow shadow_;
  std::unordered_set<uint64_t> stored_;  // addresses of pages, since the last look
  uint64_t next_all_ = 0;                // nanoseconds of the monotonic clock
  uint64_t all_ = 0;                     // bytes, the last time
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_UNSEEN_STORES_H_
