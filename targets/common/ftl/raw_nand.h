// Flash that powercut judges (powercut/flash.h), as a medium: a page is sealed with a checksum.
#ifndef POWERCUT_TARGETS_COMMON_FTL_RAW_NAND_H_
#define POWERCUT_TARGETS_COMMON_FTL_RAW_NAND_H_

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "powercut/flash.h"
#include "targets/common/ftl/medium.h"
#include "targets/common/hash.h"

namespace powercut::ftl {

class RawNand {
 public:
  static constexpr bool kContents = true;
  static constexpr uint64_t kEraseLimit = uint64_t{1} << 32;

  RawNand(powercut_pool pool, const Geometry& geometry)
      : geometry_(geometry),
        flash_(powercut_flash_in(pool, geometry.pages_per_block, geometry.page_size, sizeof(Spare), kEraseLimit)),
        zeroes_(geometry.page_size + sizeof(Spare), 0) {}

  const Geometry& geometry() const { return geometry_; }
  // Whether the pool is large enough.
  bool Fits() const { return flash_.blocks >= geometry_.blocks; }

  // A page where it lies. Its bytes are good for ever.
  Reading Look(uint64_t page, const uint8_t** data, Spare* spare) const {
    const powercut_flash_status status = powercut_flash_find(&flash_, page, data);
    if (status == POWERCUT_FLASH_OK && *data == nullptr) *data = zeroes_.data();
    if (*data == nullptr) return status == POWERCUT_FLASH_ERASED ? Reading::kErased : Reading::kUnreadable;
    std::memcpy(spare, *data + geometry_.page_size, sizeof *spare);
    return spare->checksum == Checksum(*data, *spare) ? Reading::kOk : Reading::kUnreadable;
  }
  Reading Read(uint64_t page, void* data, Spare* spare) const {
    const uint8_t* bytes;
    const Reading reading = Look(page, &bytes, spare);
    if (reading == Reading::kOk && data != nullptr) std::memcpy(data, bytes, geometry_.page_size);
    return reading;
  }
  // A page without data is zeroes.
  bool Program(uint64_t page, const void* data, Spare spare) {
    if (data == nullptr) data = zeroes_.data();
    spare.checksum = Checksum(data, spare);
    return powercut_flash_program(&flash_, page, data, &spare) == POWERCUT_FLASH_OK;
  }
  bool Erase(uint32_t block) { return powercut_flash_erase(&flash_, block) == POWERCUT_FLASH_OK; }
  uint64_t Erases(uint32_t block) const { return powercut_flash_erases(&flash_, block); }

  // Where a page, or a block's word, lies in the pool.
  const void* PlaceOf(uint64_t page) const { return powercut_flash_page_words(&flash_, page); }
  const void* PlaceOfBlock(uint32_t block) const { return powercut_flash_block_word(&flash_, block); }
  static constexpr uint64_t kPlaceSize = 2 * sizeof(uint64_t);

 private:
  // Returns the checksum of the page and of all else in its spare area; both consist of whole words. Two sums run side
  // by side, and neither sum waits for the other's product.
  uint32_t Checksum(const void* data, const Spare& spare) const {
    uint64_t even = geometry_.page_size, odd = 0;
    const auto add = [&even, &odd](const void* bytes, size_t size) {
      const auto* at = static_cast<const uint8_t*>(bytes);
      for (const uint8_t* const end = at + size; at != end; at += sizeof(uint64_t)) {
        uint64_t word;
        std::memcpy(&word, at, sizeof word);
        even = (even ^ word) * 0x9fb21c651e98df25;
        even ^= even >> 35;
        std::swap(even, odd);
      }
    };
    Spare rest = spare;
    rest.checksum = 0;
    add(data, geometry_.page_size);
    add(&rest, sizeof rest);
    return static_cast<uint32_t>(Mix(even ^ Mix(odd)));
  }

  Geometry geometry_;
  powercut_flash flash_;
  const std::vector<uint8_t> zeroes_;  // of a page and its spare area
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_RAW_NAND_H_
