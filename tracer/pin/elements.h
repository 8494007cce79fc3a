// Stores that leave parts of their memory operand alone: which bytes they do store.
#ifndef POWERCUT_TRACER_PIN_ELEMENTS_H_
#define POWERCUT_TRACER_PIN_ELEMENTS_H_

#include <stdint.h>

#include <vector>

#include "tracer/pin/recorder.h"

namespace powercut {
namespace pin {

// Adds an element; one that follows the last without a gap makes it longer. A masked store without gaps thus is one
// store of the trace, as the unmasked one is.
void add_element(std::vector<Piece>* pieces, uint64_t address, uint64_t size);

// A compressing store: `set` elements of `size` bytes each, from `address` on.
std::vector<Piece> compressed(uint64_t address, uint64_t set, uint64_t size);

// maskmovq and maskmovdqu: the bytes at `address` whose byte of the mask has its highest bit set.
std::vector<Piece> selected_bytes(uint64_t address, const uint8_t* mask, uint32_t size);

}  // namespace pin
}  // namespace powercut
#endif  // POWERCUT_TRACER_PIN_ELEMENTS_H_
