// Flash that powercut judges (powercut/flash.h), as a medium: a page is sealed with a checksum.
#ifndef POWERCUT_TARGETS_COMMON_FTL_RAW_NAND_H_
#define POWERCUT_TARGETS_COMMON_FTL_RAW_NAND_H_

#include <cstddef>
#include <cstring>
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
        bytes_(geometry.page_size) {}

  const Geometry& geometry() const { return geometry_; }
  // Whether the pool is large enough.
  bool Fits() const { return flash_.blocks >= geometry_.blocks; }

  Reading Read(uint64_t page, void* data, Spare* spare) {
    if (data == nullptr) data = bytes_.data();
    switch (powercut_flash_read(&flash_, page, data, spare)) {
      case POWERCUT_FLASH_OK:
        return spare->checksum == Checksum(data, *spare) ? Reading::kOk : Reading::kUnreadable;
      case POWERCUT_FLASH_ERASED:
        return Reading::kErased;
      default:
        return Reading::kUnreadable;
    }
  }
  // A page without data is zeroes.
  bool Program(uint64_t page, const void* data, Spare spare) {
    if (data == nullptr) data = std::memset(bytes_.data(), 0, bytes_.size());
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
  uint32_t Checksum(const void* data, const Spare& spare) const {
    constexpr size_t kSkipped = offsetof(Spare, kind);
    uint8_t rest[sizeof(Spare) - kSkipped];
    std::memcpy(rest, reinterpret_cast<const uint8_t*>(&spare) + kSkipped, sizeof rest);
    return static_cast<uint32_t>(
        HashKey(static_cast<const uint8_t*>(data), geometry_.page_size, HashKey(rest, sizeof rest)));
  }

  Geometry geometry_;
  powercut_flash flash_;
  std::vector<uint8_t> bytes_;
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_RAW_NAND_H_
