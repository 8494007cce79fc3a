// Open, for slots that hold items.
#include <utility>

#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  Table opening(pool, options);
  const powercut_status begun = opening.Begin();
  if (begun != POWERCUT_OK) return begun;
  if (!opening.Has(Bug::kLeakNewLevel) &&
      !opening.allocator_.Sweep([&](uint64_t offset) { return opening.Reaches(offset); })) {
    return POWERCUT_CORRUPT;
  }
  if (!opening.Has(Bug::kLogNotReplayed)) opening.ReplayLog();
  opening.Settle();
  return HandOut(std::move(opening), out);
}

}  // namespace powercut::level
