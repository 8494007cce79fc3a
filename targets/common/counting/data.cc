// The data segment: probing, and blocks that are read and written as a whole.
#include <algorithm>

#include "powercut/pmem.h"
#include "targets/common/counting/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::counting {

bool Table::IsGood(const PageView& page, Kind kind) const {
  if (!options_.hardened) return page.header().kind == kind || page.header().kind == Kind::kNone;
  return Has(Bug::kChecksumIgnored) ? page.header().kind == kind : page.IsSealed(kind);
}

// The pages of a block; of the first one the header, too.
bool Table::LoadHome(uint32_t place, Image* image, PageHeader* first) {
  *first = {};
  std::vector<uint8_t> room;
  for (uint32_t p = 0; p < options_.pages; ++p) {
    const uint8_t* const bytes = device_.LookInBlock(BlockAt(place), p, &room);
    if (bytes == nullptr) return false;
    const PageView page = View(bytes);
    const PageHeader& header = page.header();
    if (!buffered() && header.kind == Kind::kNone) continue;  // each page is written for itself
    if (!IsGood(page, Kind::kData)) return false;
    if (p == 0) *first = header;
    if (options_.hardened && buffered() && !Has(Bug::kPiecesAccepted) &&
        (header.owner != first->owner || header.index != p || header.generation != first->generation)) {
      return false;
    }
    for (uint32_t i = 0; i < options_.entries; ++i) {
      image->home[p * options_.entries + i] = {page.tag(i), page.entry(i)};
    }
  }
  return true;
}

// The chain of a block whose first page has this header.
bool Table::LoadChain(const PageHeader& first, Image* image) {
  if (!image->has_chain()) return true;
  std::vector<uint8_t> room;
  for (uint64_t next = image->home.back().entry.key + 1; next != 0;) {
    const uint64_t number = next - 1;
    if (number >= geometry_.overflow_pages || image->pages.size() >= geometry_.overflow_pages) return false;
    const uint8_t* const bytes = device_.Look(geometry_.overflow + number, &room);
    if (bytes == nullptr) return false;
    const PageView page = View(bytes);
    const PageHeader& header = page.header();
    if (!IsGood(page, Kind::kOverflow) || header.entries > options_.entries) return false;
    if (options_.hardened && buffered() &&
        (header.owner != first.owner || header.generation != first.generation || header.index != image->pages.size())) {
      return false;
    }
    image->pages.push_back(static_cast<uint32_t>(number));
    for (uint32_t i = 0; i < header.entries; ++i) image->chain.push_back({page.tag(i), page.entry(i)});
    next = header.next;
  }
  return true;
}

bool Table::Load(uint32_t slot, Image* image) {
  PageHeader first;
  return place_[slot] == kNowhere || (LoadHome(place_[slot], image, &first) && LoadChain(first, image));
}

// Page by page from the key's home page on: "linear probing halts if the entry is found or an empty entry was
// discovered" (2.7).
powercut_status Table::FindInData(uint64_t key, Spot* spot) {
  const Position home = PositionOf(key);
  *spot = {.found = false, .count = 0, .page = kNoPage, .index = 0, .end = kNoPage};
  if (place_[home.slot] == kNowhere) return POWERCUT_OK;
  std::vector<uint8_t> room;
  // True: probing ends here.
  const auto look = [&](const PageView& page, uint64_t number, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; ++i) {
      const bool same = page.tag(i) == Tag::kCount && page.entry(i).key == key;
      const bool dead = page.tag(i) == Tag::kCount && page.entry(i).count == 0;  // only of the table without a buffer
      if (same || ((page.tag(i) == Tag::kEmpty || dead) && spot->page == kNoPage)) {
        spot->page = number;
        spot->index = i;
      }
      if (same) {
        spot->found = true;
        spot->count = page.entry(i).count;
      }
      if (same || page.tag(i) == Tag::kEmpty) return true;
    }
    return false;
  };
  const uint64_t block = BlockAt(place_[home.slot]);
  uint64_t next = 0;
  for (uint32_t p = home.index / options_.entries; p < options_.pages; ++p) {
    spot->end = block + p;
    const uint8_t* const bytes = device_.Look(block + p, &room);
    if (bytes == nullptr) return POWERCUT_CORRUPT;
    const PageView page = View(bytes);
    if (page.header().kind != Kind::kNone && !IsGood(page, Kind::kData)) return POWERCUT_CORRUPT;
    const bool last = p + 1 == options_.pages;
    const bool chained = last && page.tag(options_.entries - 1) == Tag::kPointer;
    const uint32_t from = p == home.index / options_.entries ? home.index % options_.entries : 0;
    if (look(page, block + p, from, options_.entries - (chained ? 1 : 0))) return POWERCUT_OK;
    if (chained) next = page.entry(options_.entries - 1).key + 1;
  }
  for (uint32_t step = 0; next != 0; ++step) {
    if (step > geometry_.overflow_pages || next > geometry_.overflow_pages) return POWERCUT_CORRUPT;
    spot->end = geometry_.overflow + next - 1;
    const uint8_t* const bytes = device_.Look(spot->end, &room);
    if (bytes == nullptr) return POWERCUT_CORRUPT;
    const PageView page = View(bytes);
    if (!IsGood(page, Kind::kOverflow) || page.header().entries > options_.entries) return POWERCUT_CORRUPT;
    if (look(page, spot->end, 0, page.header().entries)) return POWERCUT_OK;
    next = page.header().next;
  }
  return POWERCUT_OK;
}

// There is always one: a place more than data blocks.
uint32_t Table::FreePlace() const {
  uint32_t place = 0;
  while (std::find(place_.begin(), place_.end(), place) != place_.end()) ++place;
  return place;
}

// Free pages of the overflow region, marked as used. "A page is assigned when needed" (2.5).
bool Table::TakeOverflow(size_t count, std::vector<uint32_t>* pages) {
  for (uint32_t page = 0; page < geometry_.overflow_pages && pages->size() < count; ++page) {
    if (overflow_used_[page] == 0) pages->push_back(page);
  }
  if (pages->size() < count) return false;
  for (const uint32_t page : *pages) overflow_used_[page] = 1;
  return true;
}

void Table::WriteChain(const Image& image, uint32_t slot, uint64_t generation) {
  const Page page = In(page_);
  for (uint32_t n = 0; n < image.pages.size(); ++n) {
    page.Clear();
    PageHeader& header = page.header();
    header.kind = Kind::kOverflow;
    for (size_t i = size_t{n} * options_.entries; i < image.chain.size() && header.entries < options_.entries; ++i) {
      page.Put(header.entries++, Tag::kCount, image.chain[i].entry.key, image.chain[i].entry.count);
    }
    header.next = n + 1 < image.pages.size() ? uint64_t{image.pages[n + 1]} + 1 : 0;
    if (options_.hardened) {
      header.owner = slot;
      header.index = n;
      header.generation = generation;
    }
    Finish(page);
    device_.Write(geometry_.overflow + image.pages[n], page.bytes());
  }
}

void Table::WriteHome(const Image& image, uint32_t slot, uint32_t place, uint64_t generation, uint64_t merged) {
  for (uint32_t p = 0; p < options_.pages; ++p) {
    const Page page = In(block_, p);
    page.Clear();
    page.header().kind = Kind::kData;
    if (options_.hardened) {
      page.header().owner = slot;
      page.header().index = p;
      page.header().generation = generation;
      page.header().merged = merged;
    }
    for (uint32_t i = 0; i < options_.entries; ++i) {
      const Cell& cell = image.home[p * options_.entries + i];
      page.Put(i, cell.tag, cell.entry.key, cell.entry.count);
    }
    if (image.has_chain() && p + 1 == options_.pages) page.entry(options_.entries - 1).key = image.pages[0];
    Finish(page);
  }
  device_.WriteBlock(BlockAt(place), options_.pages, block_.data());
}

// Rewrites a block with these changes. `published` writes the block in place. `hardened` writes the block and its chain
// somewhere else under a new generation, and frees the old pages when the new pages are durable. If the answer is FULL,
// nothing was changed.
powercut_status Table::Rewrite(uint32_t slot, std::span<const Change> changes, uint64_t merged) {
  Image image(geometry_.block_entries);
  if (!Load(slot, &image)) return POWERCUT_CORRUPT;
  const auto home_of = [&](uint64_t key) { return PositionOf(key).index; };
  bool removed = false;
  for (const Change& change : changes) {
    if (Cell* cell = image.Find(home_of(change.key), change.key); cell != nullptr) {
      cell->entry.count = change.On(cell->entry.count);
    } else if (change.delta != 0) {
      image.Insert(home_of(change.key), {change.key, change.delta});
    }
    if (const Cell* cell = image.Find(home_of(change.key), change.key); cell != nullptr) {
      removed = removed || cell->entry.count == 0;
    }
  }
  if (removed) image.Rehash(home_of);

  const uint32_t needed = ChainPages(image.chain.size());
  const std::vector<uint32_t> old = std::move(image.pages);
  pmem::mark(needed == 0 ? "merge.block" : "merge.block_with_chain");
  image.pages.clear();
  if (!options_.hardened) {  // the pages that it has, and more
    for (const uint32_t page : old) overflow_used_[page] = 0;
    if (!TakeOverflow(needed, &image.pages)) {
      for (const uint32_t page : old) overflow_used_[page] = 1;
      return POWERCUT_FULL;
    }
    WriteChain(image, slot, 0);
    WriteHome(image, slot, place_[slot], 0, 0);
    chain_pages_[slot] = needed;
    return POWERCUT_OK;
  }

  // Whatever is full can be written again where something was erased: the longest chain has room beside all of them.
  uint32_t longest = needed, all = needed;
  for (uint32_t other = 0; other < options_.blocks; ++other) {
    if (other == slot) continue;
    longest = std::max(longest, chain_pages_[other]);
    all += chain_pages_[other];
  }
  if (all + longest > geometry_.overflow_pages && needed > old.size()) return POWERCUT_FULL;
  const auto give_back = [&] {
    for (const uint32_t page : old) overflow_used_[page] = 0;
  };
  DO_IF (Bug::kOverflowReused) give_back();
  if (!TakeOverflow(needed, &image.pages)) return POWERCUT_FULL;
  const bool flush_before = Has(Bug::kLogReused) || (Has(Bug::kSyncLazy) && logs_.empty());
  if (flush_before) device_.Flush();
  if (Has(Bug::kMergedFirst) && place_[slot] != kNowhere && device_.Read(BlockAt(place_[slot]), page_.data())) {
    const Page old_first = In(page_);
    old_first.header().merged = merged;
    Finish(old_first);
    device_.Write(BlockAt(place_[slot]), old_first.bytes(), Durable::kAtReturn);
  }
  const uint64_t generation = next_generation_++;
  const uint32_t place = FreePlace();
  WriteChain(image, slot, generation);
  WriteHome(image, slot, place, generation, Has(Bug::kMergedNotRaised) ? merged_[slot] : merged);
  if (!flush_before && !Has(Bug::kSpareReused)) device_.Flush();
  place_[slot] = place;
  SKIP_IF (Bug::kOverflowReused) give_back();
  merged_[slot] = merged;
  chain_pages_[slot] = needed;
  return POWERCUT_OK;
}

}  // namespace powercut::counting
