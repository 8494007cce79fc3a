#ifndef POWERCUT_TARGETS_MONTAGE_OPTIONS_H_
#define POWERCUT_TARGETS_MONTAGE_OPTIONS_H_

#include <cstdint>

#include "targets/common/options.h"
#include "targets/common/scheme_table.h"

namespace powercut::montage {

enum class Bug : uint8_t {
  kNone,
  kFlushSkipped,    // advance: what the epoch has written is not written back
  kClockEarly,      // advance: the clock is durable before what the epoch has written
  kAdvanceNoWait,   // advance: operations of the epoch that ends may still write
  kUpdateInPlace,   // a payload of an earlier epoch is overwritten
  kClockUnchecked,  // an operation does not look whether its epoch is still the present one once it is counted
  kTombEarly,       // an erased payload is dropped before those that it covers are, durably
  kOneEpoch,        // open keeps what the epoch before the last one has written
  kDiscardedKept,   // open leaves what it discards in the pool, where it counts once the clock has moved on
  kOneLineFlushed,  // advance: of a payload of several lines the first one alone is written back
  kCount
};

struct Options : SchemeOptions {
  uint32_t every;  // operations that change something, after which the clock moves on; 0: only on command
  Bug bug;
};

}  // namespace powercut::montage
#endif  // POWERCUT_TARGETS_MONTAGE_OPTIONS_H_
