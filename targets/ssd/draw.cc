// Draws the flash: its blocks, page by page.
#include "targets/common/drawing.h"
#include "targets/ssd/table.h"

namespace powercut::ssd {
namespace {

const char* NameOf(ftl::Kind kind) {
  switch (kind) {
    case ftl::Kind::kData:
      return "data";
    case ftl::Kind::kTrimmed:
      return "trimmed";
    case ftl::Kind::kFiller:
      return "the count alone";
    case ftl::Kind::kSnapshot:
      return "snapshot";
    case ftl::Kind::kNote:
      return "note";
    case ftl::Kind::kMapping:
      return "mapping";
    case ftl::Kind::kNone:
      break;
  }
  return "nothing";
}

}  // namespace

void Table::Draw(Drawing* to) {
  const ftl::Geometry& geometry = ssd_.nand().geometry();
  for (uint32_t block = 0; block < geometry.blocks && to->Wants(); ++block) {
    to->Group(block < ssd_.first_block() ? "journal, block %u" : "block %u", block);
    for (uint32_t i = 0; i < geometry.pages_per_block; ++i) {
      const uint64_t page = uint64_t{block} * geometry.pages_per_block + i;
      const void* const at = ssd_.nand().PlaceOf(page);
      to->Bucket(i);
      ftl::Spare spare;
      const ftl::Reading reading = ssd_.nand().Read(page, page_.data(), &spare);
      if (reading == ftl::Reading::kErased) {
        to->Empty(0, at, ftl::RawNand::kPlaceSize);
      } else if (reading == ftl::Reading::kUnreadable) {
        to->Word("page", at, ftl::RawNand::kPlaceSize, "cannot be read");
      } else if (spare.kind == ftl::Kind::kNote) {
        to->Word("page", at, ftl::RawNand::kPlaceSize, "block %u, erase %u", spare.place, spare.count);
      } else if (spare.kind == ftl::Kind::kData && spare.place < ssd_.logical() && ssd_.Has(spare.place) &&
                 ssd_.PageOf(spare.place) == page) {
        to->Word("spare", at, ftl::RawNand::kPlaceSize, "logical page %u, number %llu, erases %u", spare.place,
                 static_cast<unsigned long long>(spare.sequence), spare.erases);
        to->Item(0, page_.data(), page_.data() + kKey, at, ftl::RawNand::kPlaceSize);
      } else {
        to->Word("page", at, ftl::RawNand::kPlaceSize, "%s, %u, number %llu", NameOf(spare.kind), spare.place,
                 static_cast<unsigned long long>(spare.sequence));
      }
    }
  }
}

}  // namespace powercut::ssd

POWERCUT_DRAWS(powercut::ssd::Table)
