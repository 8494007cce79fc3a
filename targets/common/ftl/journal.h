// The journal: two areas of blocks at the front of the device, of which one counts. An area begins with a snapshot, in
// pages, and goes on with notes, a page each. A note names the block that is about to be erased, and its count after
// the erase. When the area is nearly full, the other area is erased, with notes as well, and begins with a snapshot.
// README.md says why the switch is safe.
#ifndef POWERCUT_TARGETS_COMMON_FTL_JOURNAL_H_
#define POWERCUT_TARGETS_COMMON_FTL_JOURNAL_H_

#include <algorithm>
#include <cstring>
#include <vector>

#include "targets/common/ftl/medium.h"
#include "targets/common/ftl/settings.h"

namespace powercut::ftl {

template <typename Medium>
class Journal {
 public:
  struct Note {
    uint32_t block, erases;
  };
  struct Found {
    std::vector<uint32_t> words;  // the snapshot
    std::vector<Note> notes;      // since, in their order
  };
  // How often the other area may be begun, if power cuts interrupt it, before there is no room for a note.
  static constexpr uint32_t kAttempts = 3;

  // Makes a journal for snapshots of `words` words.
  Journal(Medium* medium, Counts* counts, uint32_t words, Bug bug)
      : medium_(medium),
        counts_(counts),
        bug_(bug),
        words_(words),
        snapshot_(PagesFor(medium->geometry(), words)),
        blocks_(AreaBlocks(medium->geometry(), words)),
        bytes_(medium->geometry().page_size) {}

  // Blocks of an area: room for a snapshot, a note, and the notes of the other area's erases. Blocks have 4 pages or
  // more.
  static uint32_t AreaBlocks(const Geometry& geometry, uint32_t words) {
    uint32_t blocks = 1;
    while (blocks * geometry.pages_per_block < PagesFor(geometry, words) + 1 + kAttempts * blocks) ++blocks;
    return blocks;
  }

  uint32_t blocks() const { return 2 * blocks_; }
  bool exists() const { return generation_ != 0; }
  // The blocks of the area that does not count.
  uint32_t other() const { return BlockOf(Other()); }
  uint32_t area_blocks() const { return blocks_; }
  // No room is left but for the notes of the other area's erases.
  bool nearly_full() const { return room() <= kAttempts * blocks_; }

  // False: there is none.
  bool Recover(Found* found) {
    for (uint32_t area = 0; area < 2; ++area) {
      Found here;
      uint32_t pages = 0, used = 0;
      uint64_t generation = 0;
      for (uint32_t i = 0; i < size(); ++i) {
        Spare spare;
        counts_->PageRead();
        const Reading reading = medium_->Read(PageOf(area, i), bytes_.data(), &spare);
        if (reading == Reading::kErased) break;
        used = i + 1;
        if (reading == Reading::kUnreadable) continue;
        if (spare.kind == Kind::kSnapshot && spare.place == pages && (pages == 0 || spare.sequence == generation)) {
          generation = spare.sequence;
          ++pages;
          const size_t at = here.words.size();
          here.words.resize(at + bytes_.size() / sizeof(uint32_t));
          std::memcpy(&here.words[at], bytes_.data(), bytes_.size());
        } else if (spare.kind == Kind::kNote && spare.sequence == generation) {
          here.notes.push_back({spare.place, spare.count});
        }
      }
      if (pages < (bug_ == Bug::kCheckpointUnfenced ? 1 : snapshot_) || generation <= generation_) continue;
      here.words.resize(std::max<size_t>(words_, here.words.size()));
      *found = std::move(here);
      current_ = area;
      used_ = used;
      generation_ = generation;
    }
    return exists();
  }

  // False: there is no room, or no journal.
  bool Add(const Note& note, uint32_t own_erases) {
    if (!exists() || room() == 0) return false;
    return Program(nullptr, {.kind = Kind::kNote,
                             .sequence = generation_,
                             .place = note.block,
                             .erases = own_erases,
                             .count = note.erases});
  }
  // The block of the area that the next page lies in.
  uint32_t next_block() const { return BlockOf(current_) + used_ / medium_->geometry().pages_per_block; }

  // Begins the other area, which is erased. `erases`: of all blocks.
  bool Begin(const std::vector<uint32_t>& words, const std::vector<uint32_t>& erases) {
    current_ = Other();
    used_ = 0;
    ++generation_;
    for (uint32_t page = 0; page < snapshot_; ++page) {
      const size_t from = page * bytes_.size() / sizeof(uint32_t);
      const size_t count =
          std::min<size_t>(words.size() - std::min(words.size(), from), bytes_.size() / sizeof(uint32_t));
      std::memset(bytes_.data(), 0, bytes_.size());
      if (count != 0) std::memcpy(bytes_.data(), &words[from], count * sizeof(uint32_t));
      if (!Program(bytes_.data(),
                   {.kind = Kind::kSnapshot, .sequence = generation_, .place = page, .erases = erases[next_block()]})) {
        return false;
      }
    }
    return true;
  }

 private:
  static uint32_t PagesFor(const Geometry& geometry, uint32_t words) {
    const uint32_t in_page = geometry.page_size / static_cast<uint32_t>(sizeof(uint32_t));
    return std::max(1u, (words + in_page - 1) / in_page);
  }
  uint32_t size() const { return blocks_ * medium_->geometry().pages_per_block; }
  uint32_t room() const { return size() - used_; }
  uint32_t Other() const { return bug_ == Bug::kJournalInPlace && exists() ? current_ : 1 - current_; }
  uint32_t BlockOf(uint32_t area) const { return area * blocks_; }
  uint64_t PageOf(uint32_t area, uint32_t i) const {
    return uint64_t{BlockOf(area)} * medium_->geometry().pages_per_block + i;
  }
  bool Program(const void* data, const Spare& spare) {
    ++counts_->page_programs;
    ++counts_->journal;
    return medium_->Program(PageOf(current_, used_++), data, spare);
  }

  Medium* medium_;
  Counts* counts_;
  const Bug bug_;
  const uint32_t words_, snapshot_, blocks_;
  uint32_t current_ = 1, used_ = 0;  // where nothing was written, the first area is the other one
  uint64_t generation_ = 0;
  std::vector<uint8_t> bytes_;
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_JOURNAL_H_
