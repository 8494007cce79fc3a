// format and open.
#include <algorithm>
#include <memory>
#include <new>

#include "targets/common/counting/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::counting {
namespace {

// Returns the header that format writes to the root and that open expects there.
PageHeader RootOf(const Options& options, const Geometry& geometry) {
  return {.checksum = 0,
          .kind = Kind::kRoot,
          .owner = static_cast<uint32_t>(kMember.scheme),
          .index = options.hardened ? 1u : 0u,
          .entries = options.entries,
          .generation = uint64_t{options.blocks} << 32 | options.pages,
          .merged = geometry.overflow - geometry.change,
          .next = geometry.overflow_pages};
}

}  // namespace

Geometry::Geometry(const Options& options)
    : block_entries(options.pages * options.entries),
      places(options.blocks + (options.hardened && kMember.scheme != Scheme::kUnbuffered ? 1 : 0)),
      overflow_pages(options.overflow * options.pages) {
  const uint64_t percent = uint64_t{options.blocks} * options.change;
  switch (kMember.scheme) {
    case Scheme::kBounded:
    case Scheme::kUnbuffered:
      logs = log_pages = log_slots = 0;
      break;
    case Scheme::kSegmented:  // k data blocks have one change block
      log_slots = std::max<uint32_t>(1, 100 / options.change);
      logs = (options.blocks + log_slots - 1) / log_slots;
      log_pages = options.pages;
      break;
    case Scheme::kLinear:
      log_slots = options.blocks;
      logs = 1;
      log_pages = static_cast<uint32_t>(std::max<uint64_t>(1, percent * options.pages / 100));
      break;
  }
  data = kJournal + 1;
  change = data + uint64_t{places} * options.pages;
  overflow = change + uint64_t{logs} * log_pages;
  end = overflow + overflow_pages;
}

Table::Table(powercut_pool pool, const Options& options)
    : pool_(pool),
      options_(options),
      geometry_(options),
      device_(pool, options, geometry_.end),
      buffer_(options.blocks, options.buffer),
      place_(options.blocks, kNowhere),
      merged_(options.blocks, 0),
      overflow_used_(geometry_.overflow_pages, 0),
      chain_pages_(options.blocks, 0),
      ranges_(options.blocks),
      page_(options.page),
      block_(size_t{options.pages} * options.page) {
  // Where they lie then does not depend on what open reads: else a lookup is asked again when another block is longer.
  for (std::vector<Range>& ranges : ranges_) ranges.reserve(4);
  for (uint32_t log = 0; log < geometry_.logs; ++log) {
    const uint32_t slot = log * geometry_.log_slots;
    logs_.push_back({.first = geometry_.change + uint64_t{log} * geometry_.log_pages,
                     .slot = slot,
                     .slots = std::min(geometry_.log_slots, options.blocks - slot),
                     .open = {},
                     .taken = {}});
  }
}

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  try {
    Table table(pool, options);
    if (table.geometry_.end > table.device_.pages() || !table.device_.Format()) return POWERCUT_FULL;
    // All old contents of the device are erased before the table exists.
    table.device_.EraseBlock(0, table.geometry_.end);
    table.device_.Flush();
    const Page root = table.In(table.page_);
    root.header() = RootOf(options, table.geometry_);
    root.Seal();
    return table.device_.Write(Geometry::kRoot, root.bytes(), Durable::kAtReturn) ? POWERCUT_OK : POWERCUT_FULL;
  } catch (const std::bad_alloc&) {
    return POWERCUT_FULL;
  }
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  try {
    std::unique_ptr<Table> table(new Table(pool, options));
    if (table->geometry_.end > table->device_.pages()) return POWERCUT_BAD_CONFIG;
    const powercut_status status = table->Recover();
    if (status == POWERCUT_OK) *out = table.release();
    return status;
  } catch (const std::bad_alloc&) {
    return POWERCUT_FULL;
  }
}

powercut_status Table::Recover() {
  std::vector<uint8_t> room;
  const uint8_t* const bytes = device_.Open() ? device_.Look(Geometry::kRoot, &room) : nullptr;
  if (bytes == nullptr) return POWERCUT_NOT_FORMATTED;
  const PageView root = View(bytes);
  if (!root.IsSealed(Kind::kRoot)) return POWERCUT_NOT_FORMATTED;
  PageHeader expected = RootOf(options_, geometry_);
  expected.checksum = root.header().checksum;
  if (std::memcmp(&expected, &root.header(), sizeof expected) != 0) return POWERCUT_BAD_CONFIG;
  powercut_status status = POWERCUT_OK;
  if (!buffered() && options_.hardened && options_.sectors > 1 && !RedoJournal()) status = POWERCUT_CORRUPT;
  if (status == POWERCUT_OK) status = options_.hardened && buffered() ? FindNewestBlocks() : FindChains();
  if (status == POWERCUT_OK) status = FindChanges();
  if (wiped_) device_.Flush();
  return status;
}

// Wipes the rest of a torn page before anything else is written there. Otherwise a later write of the page might be
// torn as well: an old sector and the new sectors might then form a page that nobody has written, or that was lost
// before.
void Table::WipeTorn(uint64_t number, const PageView& page, Kind kind) {
  DO_IF (Bug::kTornKept) return;
  if (!options_.hardened || options_.sectors == 1 || page.IsSealed(kind) || page.IsZero()) return;
  device_.EraseBlock(number, 1);
  wiped_ = true;
}

// Finds the newest complete generation of each data block. A block that a power cut has left in pieces does not count.
// New generations are numbered after all that were ever seen: a piece must not fit into a block that is written later.
powercut_status Table::FindNewestBlocks() {
  std::vector<uint64_t> newest(options_.blocks, 0);
  std::vector<std::vector<uint32_t>> chains(options_.blocks);
  std::vector<uint8_t> room;
  for (uint32_t place = 0; place < geometry_.places; ++place) {
    Image image(geometry_.block_entries);
    PageHeader first;
    bool whole = LoadHome(place, &image, &first);
    if (whole) whole = LoadChain(first, &image) || Has(Bug::kChainUnchecked);
    for (uint32_t p = 0; p < options_.pages; ++p) {
      const uint8_t* const bytes = device_.LookInBlock(BlockAt(place), p, &room);
      if (bytes == nullptr) continue;
      const PageView page = View(bytes);
      WipeTorn(BlockAt(place) + p, page, Kind::kData);
      if (!page.IsSealed(Kind::kData) || Has(Bug::kGenerationReused)) continue;
      next_generation_ = std::max(next_generation_, page.header().generation + 1);
      SKIP_IF (Bug::kSequenceRestarts) next_sequence_ = std::max(next_sequence_, page.header().merged + 1);
    }
    if (!whole || first.owner >= options_.blocks || first.generation <= newest[first.owner]) continue;
    newest[first.owner] = first.generation;
    place_[first.owner] = place;
    merged_[first.owner] = first.merged;
    chains[first.owner] = std::move(image.pages);
  }
  for (uint32_t slot = 0; slot < options_.blocks; ++slot) {
    chain_pages_[slot] = static_cast<uint32_t>(chains[slot].size());
    for (const uint32_t page : chains[slot]) overflow_used_[page] = 1;
    DO_IF (Bug::kGenerationReused) next_generation_ = std::max(next_generation_, newest[slot] + 1);
  }
  DO_IF (Bug::kMergedOfNewest) merged_.assign(merged_.size(), *std::max_element(merged_.begin(), merged_.end()));
  for (uint32_t number = 0; number < geometry_.overflow_pages; ++number) {
    const uint8_t* const bytes = device_.Look(geometry_.overflow + number, &room);
    if (bytes == nullptr) continue;
    const PageView page = View(bytes);
    WipeTorn(geometry_.overflow + number, page, Kind::kOverflow);
    DO_IF (Bug::kGenerationReused) continue;
    if (page.IsSealed(Kind::kOverflow)) next_generation_ = std::max(next_generation_, page.header().generation + 1);
  }
  return POWERCUT_OK;
}

// For blocks that are written in place: finds the pages of the overflow region that the blocks use.
powercut_status Table::FindChains() {
  for (uint32_t slot = 0; slot < options_.blocks; ++slot) {
    place_[slot] = slot;
    Image image(geometry_.block_entries);
    if (!Load(slot, &image)) return POWERCUT_CORRUPT;
    chain_pages_[slot] = static_cast<uint32_t>(image.pages.size());
    for (const uint32_t page : image.pages) overflow_used_[page] = 1;
  }
  return POWERCUT_OK;
}

// How far each log is filled, and of MDB-L in which pages the changes of each slot lie. In `hardened` a page counts for
// the slots whose data blocks lack it.
powercut_status Table::FindChanges() {
  std::vector<uint8_t> room;
  for (Log& log : logs_) {
    for (uint32_t p = 0; p < geometry_.log_pages; ++p) {
      const uint8_t* const bytes = device_.Look(log.first + p, &room);
      if (bytes == nullptr) {
        if (options_.hardened) continue;
        return POWERCUT_CORRUPT;
      }
      const PageView page = View(bytes);
      WipeTorn(log.first + p, page, Kind::kChange);
      if (page.header().kind != Kind::kChange || !IsGood(page, Kind::kChange)) continue;
      SKIP_IF (Bug::kSequenceRestarts) next_sequence_ = std::max(next_sequence_, page.header().generation + 1);
      const uint32_t entries = std::min(page.header().entries, options_.entries);
      bool counts = false;
      for (uint32_t i = 0; i < entries; ++i) {
        const uint32_t slot = PositionOf(page.entry(i).key).slot;
        if (options_.hardened && page.header().generation <= merged_[slot]) continue;
        counts = true;
        if (kMember.scheme == Scheme::kLinear) AddToRange(slot, p);
      }
      if (!counts) continue;
      DO_IF (Bug::kSequenceRestarts) next_sequence_ = std::max(next_sequence_, page.header().generation + 1);
      log.used = Has(Bug::kCursorByCount) ? log.used + 1 : p + 1;
      log.open.clear();
      if (!options_.hardened && entries < options_.entries) log.open.assign(bytes, bytes + options_.page);
    }
    if (Has(Bug::kLastPageMissed) && log.used != 0) {
      --log.used;
      for (std::vector<Range>& ranges : ranges_) {
        if (!ranges.empty() && ranges.back().last == log.used && ranges.back().first == log.used) ranges.pop_back();
        if (!ranges.empty() && ranges.back().last == log.used) --ranges.back().last;
      }
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::counting
