// The table without a buffer: "a naive implementation of a hash table will immediately issue update requests to the
// hash table as the data points are received" (2.1).
#include "targets/common/counting/table.h"

namespace powercut::counting {

// A page of several sectors may be torn: `hardened` has a copy in the journal before it writes one.
bool Table::WriteForced(uint64_t number, const Page& page) {
  Finish(page);
  if (options_.hardened && options_.sectors > 1 && !Has(Bug::kJournalSkipped)) {
    std::vector<uint8_t> bytes(page.bytes(), page.bytes() + options_.page);
    const Page journal = In(bytes);
    journal.header().merged = static_cast<uint64_t>(journal.header().kind);
    journal.header().kind = Kind::kJournal;
    journal.header().generation = number;
    journal.Seal();
    const Durable durable = Has(Bug::kJournalUnforced) ? Durable::kAtFlush : Durable::kAtReturn;
    if (!device_.Write(Geometry::kJournal, journal.bytes(), durable)) return false;
  }
  return device_.Write(number, page.bytes(), Has(Bug::kWriteUnforced) ? Durable::kAtFlush : Durable::kAtReturn);
}

// A page that the journal holds is written again: the power cut may have torn it.
bool Table::RedoJournal() {
  if (!device_.Read(Geometry::kJournal, page_.data())) return false;
  const Page page = In(page_);
  WipeTorn(Geometry::kJournal, page, Kind::kJournal);
  if (!page.IsSealed(Kind::kJournal)) return true;
  const uint64_t number = page.header().generation;
  page.header().kind = static_cast<Kind>(page.header().merged);
  page.header().generation = page.header().merged = 0;
  page.Seal();
  const bool there =
      device_.Read(number, block_.data()) && std::memcmp(block_.data(), page.bytes(), options_.page) == 0;
  return there || device_.Write(number, page.bytes(), Durable::kAtReturn);
}

// The count of a key, where probing ended.
powercut_status Table::WriteAtOnce(uint64_t key, const Spot& spot, int64_t count) {
  if (spot.page == kNoPage) return AddToChain(key, spot, count);
  if (!device_.Read(spot.page, page_.data())) return POWERCUT_CORRUPT;
  const Page page = In(page_);
  if (spot.page < geometry_.overflow) page.header().kind = Kind::kData;
  page.Put(spot.index, count == 0 && Has(Bug::kEraseEmpties) ? Tag::kEmpty : Tag::kCount, key, count);
  return WriteForced(spot.page, page) ? POWERCUT_OK : POWERCUT_CORRUPT;
}

// The overflow page is written first, then the page that points to it.
powercut_status Table::AddToChain(uint64_t key, const Spot& spot, int64_t count) {
  if (!device_.Read(spot.end, page_.data())) return POWERCUT_CORRUPT;
  const Page end = In(page_);
  const bool chained = spot.end >= geometry_.overflow;
  if (chained && end.header().entries < options_.entries) {
    end.Put(end.header().entries++, Tag::kCount, key, count);
    return WriteForced(spot.end, end) ? POWERCUT_OK : POWERCUT_CORRUPT;
  }
  std::vector<uint32_t> taken;
  if (!TakeOverflow(1, &taken)) return POWERCUT_FULL;
  std::vector<uint8_t> bytes(options_.page);
  const Page more = In(bytes);
  more.header().kind = Kind::kOverflow;
  const uint32_t last = options_.entries - 1;
  if (!chained) more.Put(more.header().entries++, Tag::kCount, end.entry(last).key, end.entry(last).count);
  more.Put(more.header().entries++, Tag::kCount, key, count);
  if (!Has(Bug::kPointerFirst) && !WriteForced(geometry_.overflow + taken[0], more)) return POWERCUT_CORRUPT;
  if (chained) {
    end.header().next = uint64_t{taken[0]} + 1;
  } else {
    end.Put(last, Tag::kPointer, taken[0], 0);
  }
  if (!WriteForced(spot.end, end)) return POWERCUT_CORRUPT;
  if (Has(Bug::kPointerFirst) && !WriteForced(geometry_.overflow + taken[0], more)) return POWERCUT_CORRUPT;
  ++chain_pages_[PositionOf(key).slot];
  return POWERCUT_OK;
}

}  // namespace powercut::counting
