// Verifies that the layer's state in RAM equals the contents of the flash.
#include "targets/common/scheme_target.h"
#include "targets/ssd/table.h"

namespace powercut::ssd {

bool Table::Reaches(uint64_t offset) const {
  for (uint32_t block = ssd_.first_block(); block < ssd_.nand().geometry().blocks; ++block) {
    if (OffsetOf(block) == offset) return ssd_.Reaches(block);
  }
  return false;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  const auto logical = static_cast<uint32_t>(region);
  if (ssd_.Has(logical)) {
    const uint64_t page = ssd_.PageOf(logical);
    ftl::Spare spare;
    if (ssd_.nand().Read(page, nullptr, &spare) != ftl::Reading::kOk) {
      return Broken(message, size, "logical page %u is at page %llu, which cannot be read", logical,
                    static_cast<unsigned long long>(page));
    }
    if (spare.kind != ftl::Kind::kData || spare.place != logical) {
      return Broken(message, size, "logical page %u is at page %llu, which is of logical page %u", logical,
                    static_cast<unsigned long long>(page), spare.place);
    }
  }
  // `published` keeps no counts.
  if (region != 0 || !options_.hardened) return POWERCUT_OK;
  for (uint32_t block = 0; block < ssd_.nand().geometry().blocks; ++block) {
    const uint64_t erases = ssd_.nand().Erases(block);
    if (erases == ssd_.erases(block)) continue;
    return Broken(message, size, "block %u was erased %llu times, and its count is %u", block,
                  static_cast<unsigned long long>(erases), ssd_.erases(block));
  }
  return POWERCUT_OK;
}

}  // namespace powercut::ssd
