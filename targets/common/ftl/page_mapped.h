// The page-mapped layer: any logical page lies at any place. Pages are written one behind the other, to one block after
// another. Greedy garbage collection moves the live pages of the block with the fewest live pages. README.md says why
// `hardened` is safe.
#ifndef POWERCUT_TARGETS_COMMON_FTL_PAGE_MAPPED_H_
#define POWERCUT_TARGETS_COMMON_FTL_PAGE_MAPPED_H_

#include <algorithm>
#include <vector>

#include "targets/common/ftl/blocks.h"
#include "targets/common/ftl/medium.h"
#include "targets/common/ftl/settings.h"
#include "targets/common/ftl/victims.h"

namespace powercut::ftl {

template <typename Medium>
class PageMapped {
 public:
  // Returns the geometry of a device for these settings.
  static Geometry GeometryOf(const Settings& settings, uint32_t pages_per_block, uint32_t page_size) {
    const Geometry geometry = {0, pages_per_block, page_size};
    return Blocks<Medium>::WithJournal(geometry, settings, StateWords(geometry, settings));
  }
  // Whether so many logical pages fit: with each of three blocks free, the others have more pages that are dead than
  // blocks, so that garbage collection always gains two.
  static bool Fits(const Geometry& geometry, const Settings& settings) {
    return settings.blocks > 3 && settings.logical <= uint64_t{settings.blocks - 3} * (geometry.pages_per_block - 1);
  }

  // The medium has GeometryOf(settings, …).
  PageMapped(Medium* medium, const Settings& settings)
      : medium_(medium),
        settings_(settings),
        pages_(medium->geometry().pages_per_block),
        counts_{.reads_counted = settings.reads_counted},
        blocks_(medium, &counts_, settings, /*kind=*/1, StateWords(medium->geometry(), settings)),
        victims_(medium->geometry()),
        place_(settings.logical, kNone),
        trimmed_(settings.logical, 0),
        copies_(settings.logical, 0),
        owner_(medium->geometry().pages(), kNone),
        live_(medium->geometry().blocks, 0),
        fill_(pages_),
        buffer_(medium->geometry().page_size) {}

  // A new device, all erased.
  Status Format() {
    for (uint32_t block = blocks_.first(); block < blocks_.end(); ++block) blocks_.Give(block);
    return blocks_.Format(Save()) ? Status::kOk : Status::kFull;
  }
  // Writes nothing.
  Status Open();

  Status Read(uint32_t logical, void* data) {
    counts_.HostRead();
    if (!Has(logical)) return Status::kAbsent;
    return ReadPage(place_[logical], data) ? Status::kOk : Status::kDamaged;
  }
  // Where the medium has contents: the same without a copy (RawNand::Look()).
  Status Look(uint32_t logical, const uint8_t** data) {
    counts_.HostRead();
    if (!Has(logical)) return Status::kAbsent;
    counts_.PageRead();
    Spare spare;
    return medium_->Look(place_[logical], data, &spare) == Reading::kOk ? Status::kOk : Status::kDamaged;
  }
  // Durable when it returns; so is a trim.
  Status Write(uint32_t logical, const void* data) {
    ++counts_.host_writes;
    return Change(Kind::kData, logical, data);
  }
  Status Trim(uint32_t logical) {
    ++counts_.trims;
    return Has(logical) ? Change(Kind::kTrimmed, logical, nullptr) : Status::kAbsent;
  }

  bool Has(uint32_t logical) const { return place_[logical] != kNone && trimmed_[logical] == 0; }
  // Returns the physical page of a logical page. Precondition: the logical page is present.
  uint64_t PageOf(uint32_t logical) const { return place_[logical]; }
  const Counts& counts() const { return counts_; }
  uint32_t first_block() const { return blocks_.first(); }
  uint32_t erases(uint32_t block) const { return blocks_.erases(block); }
  // Whether a block has live pages, or takes the next ones.
  bool IsUsed(uint32_t block) const { return block == frontier_ || live_[block] != 0; }
  // Whether that is for a reason.
  bool Reaches(uint32_t block) const {
    return block == frontier_ || std::any_of(place_.begin(), place_.end(),
                                             [&](uint32_t place) { return place != kNone && place / pages_ == block; });
  }

 private:
  static uint32_t StateWords(const Geometry& geometry, const Settings& settings) {
    return settings.checkpoint ? settings.blocks * geometry.pages_per_block + settings.logical : 0;
  }
  static constexpr uint32_t kTrimmedBit = uint32_t{1} << 31;

  bool Is(Bug bug) const { return settings_.bug == bug; }

  Status Change(Kind kind, uint32_t logical, const void* data) {
    if (!MakeRoom()) return Status::kFull;
    if (Is(Bug::kMappingFirst)) {
      // The mapping page names the place of the data page, which follows it.
      Append(Kind::kMapping, logical, nullptr);
      if (!MakeRoom()) return Status::kFull;
    }
    return Append(kind, logical, data) ? Status::kOk : Status::kDamaged;
  }

  // Makes room for one page in the block that takes new pages, and keeps two free blocks. One free block takes moved
  // pages; the other is a reserve for pages that power cuts waste.
  bool MakeRoom() {
    while (true) {
      const bool cleans = settings_.hardened && !Is(Bug::kEraseFirst);
      if (cleans && blocks_.free() < 2 && victims_.Fewest() != kNone) {
        if (!Collect()) break;
      } else if (fill_ == pages_) {
        if (!(cleans || blocks_.free() != 0 ? OpenBlock() : CleanInPlace())) return false;
      } else {
        return true;
      }
    }
    return fill_ != pages_ || OpenBlock();
  }

  // The block that takes pages is full: another one.
  bool OpenBlock() {
    const uint32_t block = blocks_.Take(Save());
    if (block == kNone) return false;
    Forget(block);
    Close();
    frontier_ = block;
    fill_ = 0;
    return true;
  }
  void Close() {
    const uint32_t block = frontier_;
    frontier_ = kNone;
    fill_ = pages_;
    if (block == kNone) return;
    if (live_[block] == 0) {
      blocks_.Give(block);
    } else {
      victims_.Add(block, live_[block]);
    }
  }

  // Moves the live pages of the block with the fewest live pages, which is free then. Returns false if no room can be
  // gained.
  bool Collect() {
    const uint32_t block = victims_.Fewest();
    if (live_[block] == pages_) return false;
    Mark<Medium>("ftl.collect");
    const uint64_t first = uint64_t{block} * pages_;
    for (uint32_t i = 0; i < pages_; ++i) {
      if (live_[block] == 0) return true;  // it was given back with its last page
      const uint32_t logical = owner_[first + i];
      if (logical == kNone || place_[logical] != first + i) continue;
      if (Is(trimmed_[logical] != 0 ? Bug::kTombstoneDropped : Bug::kCollectLive) && copies_[logical] > 1) {
        Drop(logical);
        continue;
      }
      if (fill_ == pages_ && !OpenBlock()) return false;
      if (!ReadPage(first + i, buffer_.data())) return false;
      if (!Append(trimmed_[logical] != 0 ? Kind::kTrimmed : Kind::kData, logical, buffer_.data())) return false;
      ++counts_.moved;
    }
    return true;
  }

  // 1.1, to the letter: "the entire block must be copied to memory, erased on the flash, and then copied back".
  bool CleanInPlace() {
    const uint32_t block = victims_.Fewest();
    if (block == kNone || live_[block] == pages_) return false;
    Mark<Medium>("ftl.collect");
    std::vector<uint32_t> pages;
    memory_.resize(size_t{pages_} * buffer_.size());
    for (uint32_t i = 0; i < pages_; ++i) {
      const uint64_t page = uint64_t{block} * pages_ + i;
      const uint32_t logical = owner_[page];
      if (logical == kNone || place_[logical] != page) continue;
      if (!ReadPage(page, InMemory(pages.size()))) return false;
      pages.push_back(logical);
    }
    if (!blocks_.Erase(block, Save())) return false;
    victims_.Remove(block);
    for (const uint32_t logical : pages) place_[logical] = kNone;
    live_[block] = 0;
    Forget(block);
    Close();
    frontier_ = block;
    fill_ = 0;
    for (size_t i = 0; i < pages.size(); ++i) {
      if (!Append(trimmed_[pages[i]] != 0 ? Kind::kTrimmed : Kind::kData, pages[i], InMemory(i))) return false;
      ++counts_.moved;
    }
    return true;
  }
  uint8_t* InMemory(size_t page) { return &memory_[page * buffer_.size()]; }

  bool ReadPage(uint64_t page, void* data) {
    counts_.PageRead();
    Spare spare;
    return medium_->Read(page, data, &spare) == Reading::kOk;
  }

  // Programs the next page; it is the newest of its logical page.
  bool Append(Kind kind, uint32_t logical, const void* data) {
    const uint64_t page = uint64_t{frontier_} * pages_ + fill_++;
    ++counts_.page_programs;
    const Spare spare = {
        .kind = kind, .sequence = blocks_.sequence++, .place = logical, .erases = blocks_.erases(frontier_)};
    if (!medium_->Program(page, data, spare)) return false;
    if (kind == Kind::kMapping) return true;
    if (place_[logical] != kNone) Kill(place_[logical]);
    owner_[page] = logical;
    ++copies_[logical];
    place_[logical] = static_cast<uint32_t>(page);
    trimmed_[logical] = kind == Kind::kTrimmed;
    ++live_[frontier_];
    return true;
  }

  // A page is not live any more.
  void Kill(uint64_t page) {
    const auto block = static_cast<uint32_t>(page / pages_);
    --live_[block];
    if (block == frontier_) return;
    victims_.Remove(block);
    if (live_[block] == 0) {
      blocks_.Give(block);
    } else {
      victims_.Add(block, live_[block]);
    }
  }

  // Forgets the pages of an erased block. The note of a trimmed page is needed as long as an older copy of the page is
  // on flash.
  void Forget(uint32_t block) {
    for (uint64_t page = uint64_t{block} * pages_; page < (uint64_t{block} + 1) * pages_; ++page) {
      const uint32_t logical = owner_[page];
      if (logical == kNone) continue;
      owner_[page] = kNone;
      --copies_[logical];
      if (copies_[logical] == 1 && trimmed_[logical] != 0 && place_[logical] != kNone) Drop(logical);
    }
  }
  // Nothing is there any more.
  void Drop(uint32_t logical) {
    Mark<Medium>("ftl.drop");
    Kill(place_[logical]);
    place_[logical] = kNone;
    trimmed_[logical] = 0;
  }

  auto Save() {
    return [this](std::vector<uint32_t>* words) {
      if (!settings_.checkpoint) return;
      words->insert(words->end(), owner_.begin() + static_cast<std::ptrdiff_t>(blocks_.first() * pages_), owner_.end());
      for (uint32_t logical = 0; logical < settings_.logical; ++logical) {
        words->push_back(place_[logical] == kNone ? kNone : place_[logical] | (trimmed_[logical] ? kTrimmedBit : 0u));
      }
    };
  }

  // recovery
  void ReadCheckpoint(const std::vector<uint32_t>& words);
  void Scan(uint32_t block, uint64_t after, std::vector<uint64_t>* newest);
  void Settle();

  Medium* medium_;
  const Settings settings_;
  const uint32_t pages_;  // of a block
  Counts counts_;
  Blocks<Medium> blocks_;
  Victims victims_;
  std::vector<uint32_t> place_;   // of each logical page: the newest page
  std::vector<uint8_t> trimmed_;  // which says that it was trimmed
  std::vector<uint32_t> copies_;  // of each logical page: pages on flash that are, or were, its newest
  std::vector<uint32_t> owner_;   // of each page that can be read: the logical page
  std::vector<uint32_t> live_;    // of each block: pages that are the newest
  uint32_t frontier_ = kNone;     // the block that takes pages
  uint32_t fill_;                 // the next page of it
  std::vector<uint8_t> buffer_;
  std::vector<uint8_t> memory_;  // what a block held
};

template <typename Medium>
Status PageMapped<Medium>::Open() {
  const auto found = blocks_.Recover();
  if (!found) return Status::kUnformatted;
  // For each logical page, the number of its newest physical page.
  std::vector<uint64_t> newest(settings_.logical, 0);
  uint64_t after = 0;  // pages from this number on are newer than the checkpoint
  std::vector<uint8_t> scanned(blocks_.end(), settings_.checkpoint ? 0 : 1);
  if (settings_.checkpoint) {
    ReadCheckpoint(found->words);
    after = blocks_.sequence;
    for (const auto& note : found->notes) {
      if (note.block < blocks_.end()) scanned[note.block] = 1;
    }
    if (Is(Bug::kNewestBlockMissed) && !found->notes.empty()) scanned[found->notes.back().block] = 0;
  }
  for (uint32_t block = blocks_.first(); block < blocks_.end(); ++block) {
    if (scanned[block] == 0) continue;
    for (uint64_t page = uint64_t{block} * pages_; page < (uint64_t{block} + 1) * pages_; ++page) owner_[page] = kNone;
  }
  for (uint32_t& place : place_) {
    if (place != kNone && scanned[place / pages_] != 0) place = kNone;
  }
  for (uint32_t block = blocks_.first(); block < blocks_.end(); ++block) {
    if (scanned[block] != 0) Scan(block, after, &newest);
  }
  Settle();
  return Status::kOk;
}

template <typename Medium>
void PageMapped<Medium>::ReadCheckpoint(const std::vector<uint32_t>& words) {
  const size_t first = size_t{blocks_.first()} * pages_, pages = owner_.size() - first;
  for (size_t i = 0; i < pages; ++i) owner_[first + i] = words[i] < settings_.logical ? words[i] : kNone;
  for (uint32_t logical = 0; logical < settings_.logical; ++logical) {
    const uint32_t word = words[pages + logical];
    if (word == kNone || (word & ~kTrimmedBit) >= owner_.size()) continue;
    place_[logical] = word & ~kTrimmedBit;
    trimmed_[logical] = (word & kTrimmedBit) != 0;
  }
}

// Takes in what a block holds. The one with the newest page takes the next pages.
template <typename Medium>
void PageMapped<Medium>::Scan(uint32_t block, uint64_t after, std::vector<uint64_t>* newest) {
  bool takes = false;
  uint32_t used = 0;
  for (uint32_t i = 0; i < pages_; ++i) {
    const uint64_t page = uint64_t{block} * pages_ + i;
    Spare spare;
    counts_.PageRead();
    const Reading reading = medium_->Read(page, nullptr, &spare);
    if (reading == Reading::kErased || (reading == Reading::kUnreadable && Is(Bug::kTornSpare))) break;
    used = i + 1;
    if (reading == Reading::kUnreadable || spare.place >= settings_.logical) continue;
    if (spare.kind == Kind::kMapping && Is(Bug::kMappingFirst) && i + 1 < pages_ && spare.sequence >= after) {
      (*newest)[spare.place] = spare.sequence;
      place_[spare.place] = static_cast<uint32_t>(page + 1);
    }
    if (spare.kind != Kind::kData && spare.kind != Kind::kTrimmed) continue;
    owner_[page] = spare.place;
    if (spare.sequence < after) continue;  // it was dead before the checkpoint
    if (spare.sequence >= blocks_.sequence) {
      blocks_.sequence = spare.sequence + 1;
      takes = true;
    }
    if (spare.sequence < (*newest)[spare.place]) continue;
    (*newest)[spare.place] = spare.sequence;
    place_[spare.place] = static_cast<uint32_t>(page);
    trimmed_[spare.place] = spare.kind == Kind::kTrimmed;
  }
  if (!takes) return;
  frontier_ = block;
  fill_ = used;
}

// Computes the counts that follow from the places and owners.
template <typename Medium>
void PageMapped<Medium>::Settle() {
  for (const uint32_t logical : owner_) {
    if (logical != kNone) ++copies_[logical];
  }
  uint64_t live = 0;
  for (uint32_t logical = 0; logical < settings_.logical; ++logical) {
    if (place_[logical] == kNone) continue;
    if (trimmed_[logical] != 0 && copies_[logical] == 1) {
      place_[logical] = kNone;
      trimmed_[logical] = 0;
      continue;
    }
    ++live_[place_[logical] / pages_];
    ++live;
  }
  if (Is(Bug::kSequenceRestarts)) blocks_.sequence = live + 1;
  for (uint32_t block = blocks_.first(); block < blocks_.end(); ++block) {
    if (block == frontier_) continue;
    if (live_[block] == 0) {
      blocks_.Give(block);
    } else {
      victims_.Add(block, live_[block]);
    }
  }
}

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_PAGE_MAPPED_H_
