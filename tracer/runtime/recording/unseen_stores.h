// The net under the hooks: the bytes of a program's pools are compared with the recorded stores, so that a store that
// nobody announced does not pass unnoticed. Such stores come from libraries that were built without the compiler pass,
// and from the kernel.
//
// Pages that were stored to are compared in each look. All other pages in memory are compared as well if they are few;
// otherwise so seldom that their looks take a twentieth of the recording's time at most. At an unmapping, and at the
// end, all pages are always compared. A byte that was changed and changed back between two looks is not noticed.
// noticed.
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
  // Differences by the pool's number.
  using Differences = std::map<uint32_t, PoolDifference>;

  // `ranges`: where the pools are mapped; outlives this object.
  explicit UnseenStores(const powercut_ranges* ranges) : ranges_(ranges) {}

  // Takes in a recorded store to a pool. `address`: where the program stored; 0 when not through a mapping.
  void store(uint32_t pool, uint64_t offset, std::span<const uint8_t> bytes, uint64_t address);
  void zero_from(uint32_t pool, uint64_t offset) { shadow_.zero_from(pool, offset); }

  // Returns the bytes that differ now, and takes them over as recorded. With `others`, other threads may not have
  // carried out yet the stores that they announced: the look waits for them.
  Differences look(Where where, bool others);
  // As look(), for all of [address, address + length).
  Differences look_at(uint64_t address, uint64_t length, bool others);
  // Returns whether look(kAll) takes little time now.
  bool affords_all() const;

 private:
  struct Piece {
    uint64_t address, length;
  };
  // Adds the pages of [begin, end) that are in memory.
  static void add_resident(uint64_t begin, uint64_t end, std::vector<Piece>* pieces);
  Differences compare(const std::vector<Piece>& pieces, bool others);

  const powercut_ranges* ranges_;
  PoolShadow shadow_;
  std::unordered_set<uint64_t> stored_;  // addresses of pages that were stored to since the last look
  uint64_t next_all_ = 0;                // nanoseconds of the monotonic clock
  uint64_t all_ = 0;                     // bytes of the last look at all pages
};

}  // namespace powercut::runtime
#endif  // POWERCUT_TRACER_RUNTIME_RECORDING_UNSEEN_STORES_H_
