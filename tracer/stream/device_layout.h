// The place of a file that is a block device in the offset space of a trace (STREAM.md, "Devices"). The first line
// holds the file's size. After it, each atomic write unit has a line of 64 bytes, and each sector has a word of its
// unit's line.
#ifndef POWERCUT_TRACER_STREAM_DEVICE_LAYOUT_H_
#define POWERCUT_TRACER_STREAM_DEVICE_LAYOUT_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace powercut {

struct DeviceLayout {
  static constexpr uint64_t kLine = 64, kWord = 8;

  uint64_t sector_size = 512;  // bytes
  uint64_t unit = 1;           // sectors of an atomic write unit: 1, 2, 4 or 8

  bool is_one() const {
    return (sector_size == 512 || sector_size == 4096) && std::has_single_bit(unit) && unit <= kLine / kWord;
  }
  uint64_t sectors(uint64_t bytes) const { return (bytes + sector_size - 1) / sector_size; }
  // Returns the offset of a sector's word. The word of the file's size is at 0.
  uint64_t word(uint64_t sector) const { return (1 + sector / unit) * kLine + sector % unit * kWord; }
  // Calls `visit(sector, name)` for each word of `names`, which were stored at `offset`, behind the first line.
  template <typename Visit>
  void each_sector(uint64_t offset, std::span<const uint8_t> names, const Visit& visit) const {
    const uint64_t first = (offset / kLine - 1) * unit + offset % kLine / kWord;
    for (uint64_t i = 0; i < names.size() / kWord; ++i) {
      uint64_t name = 0;
      std::memcpy(&name, names.data() + i * kWord, kWord);
      visit(first + i, name);
    }
  }
  // Returns the size of the offset space for a file of `size` bytes.
  uint64_t space(uint64_t size) const { return (1 + (sectors(size) + unit - 1) / unit) * kLine; }
};

}  // namespace powercut
#endif  // POWERCUT_TRACER_STREAM_DEVICE_LAYOUT_H_
