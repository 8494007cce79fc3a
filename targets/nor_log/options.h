// Options of the log, and its planted bugs.
#ifndef POWERCUT_TARGETS_NOR_LOG_OPTIONS_H_
#define POWERCUT_TARGETS_NOR_LOG_OPTIONS_H_

#include <cstdint>

#include "powercut/nor.h"

namespace powercut::nor_log {

// Each is a small change of `hardened` at the place that tests for it.
enum class Bug : uint8_t {
  kNone,
  kTornHeader,         // open takes a slot without a status for free, whatever its header holds
  kStatusFirst,        // the status says that a record is whole before the record is
  kBlankHeader,        // open takes a sector with a blank header for an erased one
  kHalfErased,         // open takes a sector with a blank first slot for an erased one
  kEraseBeforeCopies,  // garbage collection gives a sector up before its copies are whole
  kProgramAgain,       // a status that is torn is programmed once more
  kCount
};

enum class Again : uint8_t { kOnce, kTwice, kTwiceZero, kBits, kCount };
enum class Torn : uint8_t { kUnit, kByte, kBit, kCount };

struct Options {
  uint32_t key_size, value_size;
  uint32_t unit;     // bytes
  uint32_t sector;   // bytes
  uint32_t sectors;  // one of them is spare
  Torn torn;
  Again again;
  bool mix;  // an interrupted erase leaves any mix of cells
  bool ecc;
  bool hardened;
  Bug bug;

  powercut_nor_part part() const {
    powercut_nor_part part = powercut_nor_default();
    part.unit = unit;
    part.sector = sector;
    part.again = static_cast<uint32_t>(again);
    part.torn = static_cast<uint32_t>(torn);
    part.erase = mix ? POWERCUT_NOR_MIX : POWERCUT_NOR_PREFIX;
    part.ecc = ecc ? 1 : 0;
    return part;
  }
};

}  // namespace powercut::nor_log
#endif  // POWERCUT_TARGETS_NOR_LOG_OPTIONS_H_
