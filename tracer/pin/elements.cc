#include "tracer/pin/elements.h"

namespace powercut {
namespace pin {

void add_element(std::vector<Piece>* pieces, uint64_t address, uint64_t size) {
  if (!pieces->empty() && pieces->back().address + pieces->back().size == address) {
    pieces->back().size += size;
  } else {
    pieces->push_back(Piece{address, size});
  }
}

std::vector<Piece> compressed(uint64_t address, uint64_t set, uint64_t size) {
  std::vector<Piece> pieces;
  if (set != 0) pieces.push_back(Piece{address, set * size});
  return pieces;
}

std::vector<Piece> selected_bytes(uint64_t address, const uint8_t* mask, uint32_t size) {
  std::vector<Piece> pieces;
  for (uint32_t i = 0; i < size; ++i) {
    if ((mask[i] & 0x80) != 0) add_element(&pieces, address + i, 1);
  }
  return pieces;
}

}  // namespace pin
}  // namespace powercut
