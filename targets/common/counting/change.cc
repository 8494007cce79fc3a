// The change segment, and the steps that empty the change segment and the RAM buffer: stages and merges (2.3, 2.4).
#include <algorithm>
#include <cassert>

#include "powercut/pmem.h"
#include "targets/common/counting/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::counting {

void Table::AddToRange(uint32_t slot, uint32_t page) {
  std::vector<Range>& ranges = ranges_[slot];
  if (!ranges.empty() && ranges.back().last + 1 >= page) {
    ranges.back().last = page;
  } else {
    ranges.push_back({page, page});
  }
}

// "Contents are sequentially written to the change segment at the page level starting from the first available page"
// (2.4): `published` goes on in a page that has room.
void Table::Append(Log* log, uint32_t slot, const Change& change, bool from_buffer) {
  if (log->open.empty()) {
    assert(log->used < geometry_.log_pages);
    log->open.assign(options_.page, 0);
    ++log->used;
  }
  const Page page = In(log->open);
  page.header().kind = Kind::kChange;
  page.Put(page.header().entries++, change.erased ? Tag::kErased : Tag::kCount, change.key, change.delta);
  if (kMember.scheme == Scheme::kLinear) AddToRange(slot, log->used - 1);
  if (from_buffer) {
    if (log->taken.empty() || log->taken.back().first != slot) log->taken.emplace_back(slot, 0);
    ++log->taken.back().second;
  }
  if (page.header().entries == options_.entries) FinishPage(log);
}

void Table::FinishPage(Log* log) {
  if (log->open.empty()) return;
  const Page page = In(log->open);
  if (options_.hardened) page.header().generation = next_sequence_++;
  Finish(page);
  device_.Write(log->first + log->used - 1, page.bytes());
  pmem::mark("stage.page");
  for (const auto& [slot, count] : log->taken) buffer_.Drop(slot, count);
  log->taken.clear();
  if (options_.hardened || page.header().entries == options_.entries) log->open.clear();
}

powercut_status Table::StageInto(Log* log) {
  for (uint32_t slot = log->slot; slot < log->slot + log->slots; ++slot) {
    // The changes that a page takes leave the buffer when the page is written.
    while (true) {
      const uint32_t taken = log->taken.empty() || log->taken.back().first != slot ? 0 : log->taken.back().second;
      if (taken == buffer_.slot(slot).size()) break;
      if (log->open.empty() && log->used == geometry_.log_pages) {
        const powercut_status status = MergeLog(log);
        if (status != POWERCUT_OK) return status;
        continue;  // it may have taken changes from the buffer
      }
      Change change = buffer_.slot(slot)[taken];
      DO_IF (Bug::kNegativeDropped) change.delta = std::max<int64_t>(change.delta, 0);
      if (Has(Bug::kTombstoneDropped) && change.erased) {
        Spot spot;
        change.erased = FindInData(change.key, &spot) == POWERCUT_OK && spot.found;
      }
      Append(log, slot, change, /*from_buffer=*/true);
    }
  }
  if (!log->taken.empty()) FinishPage(log);
  return POWERCUT_OK;
}

// FULL: changes of blocks that have no room stay in the RAM buffer.
powercut_status Table::Stage() {
  DO_IF (Bug::kSyncLazy) device_.Flush();
  powercut_status status = POWERCUT_OK;
  for (Log& log : logs_) {
    const powercut_status staged = StageInto(&log);
    if (staged != POWERCUT_OK) status = staged;
  }
  if (!Has(Bug::kStageUnflushed) && !Has(Bug::kSyncLazy)) device_.Flush();
  return status;
}

void Table::AddStaged(const PageView& page, uint64_t number, uint32_t slot, std::vector<Staged>* out) const {
  if (!IsGood(page, Kind::kChange)) return;  // a page of a stage that was cut
  if (options_.hardened && page.header().generation <= merged_[slot]) return;
  const uint32_t blocks = options_.blocks, block_entries = geometry_.block_entries;  // read once: most are of others
  const uint32_t entries = std::min(page.header().entries, options_.entries);
  for (uint32_t i = 0; i < entries; ++i) {
    const Entry& entry = page.entry(i);
    if (PositionIn(blocks, block_entries, entry.key).slot != slot) continue;
    out->push_back({{entry.key, entry.count, page.tag(i) == Tag::kErased}, number, i});
  }
}

// MDB: "we locate the appropriate change segment block and bring it into memory to be searched"; MDB-L: "we must issue
// random page reads" (2.7).
bool Table::ReadStaged(uint32_t slot, std::vector<Staged>* out) {
  if (logs_.empty()) return true;
  const Log& log = LogOf(slot);
  std::vector<uint8_t> room;
  if (kMember.scheme == Scheme::kLinear) {
    for (const Range& range : ranges_[slot]) {
      for (uint32_t p = range.first; p <= range.last; ++p) {
        const uint8_t* const bytes = device_.Look(log.first + p, &room);
        if (bytes == nullptr) return false;
        AddStaged(View(bytes), log.first + p, slot, out);
      }
    }
    return true;
  }
  if (log.used == 0) return true;
  for (uint32_t p = 0; p < geometry_.log_pages; ++p) {
    const uint8_t* const bytes = device_.LookInBlock(log.first, p, &room);
    if (bytes == nullptr) return false;
    if (p < log.used) AddStaged(View(bytes), log.first + p, slot, out);
  }
  return true;
}

// MB: "updates are flushed onto the SSD one block at a time" (2.3).
powercut_status Table::MergeBuffer() {
  powercut_status status = POWERCUT_OK;
  for (uint32_t slot = 0; slot < options_.blocks; ++slot) {
    if (buffer_.slot(slot).empty()) continue;
    std::vector<Change> changes = buffer_.slot(slot);
    DO_IF (Bug::kNegativeDropped) std::erase_if(changes, [](const Change& c) { return c.delta < 0 && !c.erased; });
    const powercut_status merged = Rewrite(slot, changes, 0);
    if (merged == POWERCUT_OK) buffer_.Drop(slot, buffer_.slot(slot).size());
    if (merged != POWERCUT_OK) status = merged;
  }
  if (!options_.hardened || Has(Bug::kSpareReused)) device_.Flush();
  pmem::mark("merge.done");
  return status;
}

// "When full, the change segment merges with the data segment and begins from the top of the change segment" (2.4).
// FULL: some block has no room. `published` then has its changes at the top again; in `hardened` they stay where they
// are, and count for this block alone.
powercut_status Table::MergeLog(Log* log) {
  if (log->used == 0) return POWERCUT_OK;
  std::vector<std::vector<uint8_t>> rooms(kMember.scheme == Scheme::kSegmented ? geometry_.log_pages : 0);
  std::vector<const uint8_t*> pages;
  for (uint32_t p = 0; p < rooms.size(); ++p) {
    pages.push_back(device_.LookInBlock(log->first, p, &rooms[p]));
    if (pages.back() == nullptr) return POWERCUT_CORRUPT;
  }
  std::vector<std::pair<uint32_t, std::vector<Change>>> kept;
  for (uint32_t slot = log->slot; slot < log->slot + log->slots; ++slot) {
    std::vector<Staged> staged;
    if (kMember.scheme == Scheme::kSegmented) {  // the block is read once for all
      for (uint32_t p = 0; p < log->used; ++p) AddStaged(View(pages[p]), log->first + p, slot, &staged);
    } else if (!ReadStaged(slot, &staged)) {
      return POWERCUT_CORRUPT;
    }
    if (staged.empty()) continue;
    std::vector<Change> changes(staged.size());
    std::transform(staged.begin(), staged.end(), changes.begin(), [](const Staged& one) { return one.change; });
    powercut_status status = Rewrite(slot, changes, next_sequence_ - 1);
    if (status == POWERCUT_FULL && !buffer_.slot(slot).empty()) {  // an erase that waits in the buffer may make room
      std::vector<Change> all = changes;
      all.insert(all.end(), buffer_.slot(slot).begin(), buffer_.slot(slot).end());
      status = Rewrite(slot, all, next_sequence_ - 1);
      if (status == POWERCUT_OK) buffer_.Drop(slot, buffer_.slot(slot).size());
    }
    if (status == POWERCUT_CORRUPT) return status;
    if (status == POWERCUT_FULL) kept.emplace_back(slot, std::move(changes));
  }
  if (options_.hardened && !kept.empty()) return POWERCUT_FULL;
  log->used = 0;
  log->open.clear();
  for (uint32_t slot = log->slot; slot < log->slot + log->slots; ++slot) ranges_[slot].clear();
  DO_IF (Bug::kSpareReused) device_.Flush();
  pmem::mark("merge.done");
  if (options_.hardened) return POWERCUT_OK;
  device_.EraseBlock(log->first, geometry_.log_pages);
  for (const auto& [slot, changes] : kept) {
    for (const Change& change : changes) Append(log, slot, change, /*from_buffer=*/false);
  }
  FinishPage(log);
  device_.Flush();
  return kept.empty() ? POWERCUT_OK : POWERCUT_FULL;
}

powercut_status Table::MergeLogs() {
  powercut_status status = POWERCUT_OK;
  for (Log& log : logs_) {
    const powercut_status merged = MergeLog(&log);
    if (merged != POWERCUT_OK) status = merged;
  }
  return status;
}

powercut_status Table::Empty() { return kMember.scheme == Scheme::kBounded ? MergeBuffer() : Stage(); }

}  // namespace powercut::counting
