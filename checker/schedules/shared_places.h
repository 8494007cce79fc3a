// Which places threads share, and which shared places race. A place is a word, or a line of the pool. A place is shared
// if two threads use it and one of them changes it. A shared place races if no visible event has kept two such uses
// apart. The search learns of shared and racing places as schedules are run, and begins again when it has learnt of
// more.
#ifndef POWERCUT_CHECKER_SCHEDULES_SHARED_PLACES_H_
#define POWERCUT_CHECKER_SCHEDULES_SHARED_PLACES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "checker/schedules/fiber.h"
#include "tracer/format/line_bytes.h"
#include "tracer/world/pool_address.h"

namespace powercut {

class SharedPlaces {
 public:
  explicit SharedPlaces(uint64_t pool_size) : pool_size_(pool_size) {}

  // Makes every use of a shared place visible, not only those of places that race.
  void show_shared(bool on) { shows_shared_ = on; }
  bool shows_shared() const { return shows_shared_; }
  // How many places are known to be shared, or to race.
  uint64_t count() const { return shared_.size() + racing_.size(); }
  // Whether more places were found to be shared, or to race, since the last call.
  bool take_more() { return std::exchange(more_, false); }

  bool in_pool(uint64_t address) const { return address - kPoolBase < pool_size_; }
  static uint64_t line_place(uint64_t address) { return kLines | (address - kPoolBase) / kLineSize; }

  // Whether other threads can tell when the thread makes the access.
  bool is_visible(uint32_t thread, uint64_t address, uint64_t size, bool writes);
  bool is_visible(uint32_t thread, uint64_t place, bool changes);
  // Notes that the thread makes the access. Returns whether a word of the access is shared.
  bool use(uint32_t thread, std::vector<Fiber>* fibers, uint64_t address, uint64_t size, bool writes);
  bool use(uint32_t thread, std::vector<Fiber>* fibers, uint64_t place, bool changes);

 private:
  static constexpr uint64_t kLines = uint64_t{1} << 63;  // of places that are lines
  struct Users {
    uint32_t all = 0, changing = 0;  // threads, as bits
  };
  const uint64_t pool_size_;
  absl::flat_hash_map<uint64_t, Users> users_;  // by place
  absl::flat_hash_set<uint64_t> shared_, racing_;
  bool shows_shared_ = false;
  bool more_ = false;  // shared or racing
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_SCHEDULES_SHARED_PLACES_H_
