// The sectors, pages or cells of a device (powercut/block.h, flash.h, nor.h) as they lie in a pool: their words, their
// contents, and a line with one of them changed. Faults of a device damage these contents: a word of the pool is the
// name of a content, but on NOR flash, whose cells have their bytes in their lines.
#ifndef POWERCUT_CHECKER_FAULTS_DAMAGE_DEVICE_CELLS_H_
#define POWERCUT_CHECKER_FAULTS_DAMAGE_DEVICE_CELLS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "powercut/target.h"
#include "replayer/undecided/line_set.h"

namespace powercut {

inline bool is_force(const Event& event) {
  return event.kind == EventKind::kFlush && static_cast<FlushKind>(event.code) == FlushKind::kForce;
}
inline bool is_device_flush(const Event& event) {
  return event.kind == EventKind::kFence && static_cast<FenceKind>(event.code) == FenceKind::kDevice;
}

// A cell is a sector, or a page with its spare area; cells are numbered as the target numbers them.
class DeviceCells {
 public:
  // `device` is one.
  DeviceCells(const powercut_device& device, uint64_t pool_size);

  bool is_flash() const { return device_.medium == POWERCUT_FLASH; }
  bool is_nor() const { return device_.medium == POWERCUT_NOR; }
  uint64_t count() const;
  uint64_t bytes() const { return device_.bytes; }  // of a cell
  // Block: sectors of an atomic write unit; flash: pages of a block; nor: cells of a sector.
  uint64_t unit() const { return device_.unit; }
  uint64_t blocks() const { return blocks_; }  // flash; of nor the sectors

  uint64_t line_of(uint64_t cell) const { return has_blocks() ? blocks_ + cell : cell / unit(); }
  uint64_t word_of(uint64_t cell) const { return has_blocks() ? 0 : cell % unit(); }
  // Whether cells lie in erase blocks, or in sectors that are erased.
  bool has_blocks() const { return is_flash() || is_nor(); }
  // The cells whose names lie in the bytes `mask` of a line; none where that is the line of an erase block.
  std::vector<uint64_t> in(uint64_t line, uint64_t mask) const;

  // Whether a read of the cell gives bytes: an erased page and an unreadable page give none.
  bool is_readable(const uint8_t* pool, uint64_t cell) const;
  // Reads a readable cell.
  std::vector<uint8_t> read(const uint8_t* pool, uint64_t cell) const;
  uint64_t name_at(const uint8_t* pool, uint64_t cell) const;
  // The bytes of a name; none of one that nobody has given.
  std::vector<uint8_t> named(uint64_t name) const;
  uint64_t name_of(std::span<const uint8_t> content) const;
  // The cell's line, with another name in its place.
  LineSet renamed(const uint8_t* pool, uint64_t cell, uint64_t name) const;

  // The cell's line, with these bytes as its content; with an error as the answer of every read.
  LineSet holding(const uint8_t* pool, uint64_t cell, std::span<const uint8_t> content) const;
  LineSet unreadable(const uint8_t* pool, uint64_t cell) const;

  // Fills the cells of a line with noise (fill_noise), pages as programmed since the last erase.
  void fill_line(uint8_t* pool, uint64_t line, uint64_t seed) const;

  // "sector 3", "page 2 of block 1"; "sectors 3 to 5".
  std::string describe(uint64_t cell) const;
  std::string describe(uint64_t first, uint64_t last) const;

 private:
  powercut_device device_;
  uint64_t lines_, blocks_;
};

}  // namespace powercut
#endif  // POWERCUT_CHECKER_FAULTS_DAMAGE_DEVICE_CELLS_H_
