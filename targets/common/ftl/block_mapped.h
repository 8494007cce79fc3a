// The block-mapped lazy layer of "Hash in a Flash", 2.1. The paper: "when the i-th logical page of a block is written,
// the FTL copies and writes only the first i pages"; the pages go "to a newly allocated block, instead of all the
// pages. Later, when page j is modified, only the pages i + 1 to j - 1 are moved and written to the new block." A
// logical block is therefore one block, its *base*, or the front of a block that is being filled and the rest of the
// base. README.md says why `hardened` is safe.
#ifndef POWERCUT_TARGETS_COMMON_FTL_BLOCK_MAPPED_H_
#define POWERCUT_TARGETS_COMMON_FTL_BLOCK_MAPPED_H_

#include <algorithm>
#include <vector>

#include "targets/common/ftl/blocks.h"
#include "targets/common/ftl/medium.h"
#include "targets/common/ftl/settings.h"

namespace powercut::ftl {

template <typename Medium>
class BlockMapped {
 public:
  // Returns the geometry of a device for these settings.
  static Geometry GeometryOf(const Settings& settings, uint32_t pages_per_block, uint32_t page_size) {
    return Blocks<Medium>::WithJournal({0, pages_per_block, page_size}, settings, 0);
  }
  // Returns whether the logical pages fit: a block for each logical block, one block that is being filled, and two free
  // blocks.
  static bool Fits(const Geometry& geometry, const Settings& settings) {
    return settings.blocks > 3 && settings.logical <= uint64_t{settings.blocks - 3} * geometry.pages_per_block;
  }

  // The medium has GeometryOf(settings, …).
  BlockMapped(Medium* medium, const Settings& settings)
      : medium_(medium),
        settings_(settings),
        pages_(medium->geometry().pages_per_block),
        counts_{.reads_counted = settings.reads_counted},
        blocks_(medium, &counts_, settings, /*kind=*/2, 0),
        of_((settings.logical + pages_ - 1) / pages_),
        there_(of_.size() * pages_, 0),
        used_(medium->geometry().blocks, 0),
        buffer_(medium->geometry().page_size) {}

  // A new device, all erased.
  Status Format() {
    GiveUnused();
    return blocks_.Format(Save()) ? Status::kOk : Status::kFull;
  }
  // Writes nothing.
  Status Open();

  Status Read(uint32_t logical, void* data) {
    counts_.HostRead();
    if (!Has(logical)) return Status::kAbsent;
    Spare spare;
    counts_.PageRead();
    return medium_->Read(PageOf(logical), data, &spare) == Reading::kOk ? Status::kOk : Status::kDamaged;
  }
  // Where the medium has contents: the same without a copy (RawNand::Look()).
  Status Look(uint32_t logical, const uint8_t** data) {
    counts_.HostRead();
    if (!Has(logical)) return Status::kAbsent;
    counts_.PageRead();
    Spare spare;
    return medium_->Look(PageOf(logical), data, &spare) == Reading::kOk ? Status::kOk : Status::kDamaged;
  }
  // Durable when it returns; so is a trim, which writes a page that says so.
  Status Write(uint32_t logical, const void* data) {
    ++counts_.host_writes;
    return Change(Kind::kData, logical, data);
  }
  Status Trim(uint32_t logical) {
    ++counts_.trims;
    return Has(logical) ? Change(Kind::kTrimmed, logical, nullptr) : Status::kAbsent;
  }

  bool Has(uint32_t logical) const { return there_[logical] != 0; }
  // Returns the physical page of a logical page. Precondition: the logical page is present.
  uint64_t PageOf(uint32_t logical) const {
    const Logical& of = of_[logical / pages_];
    const uint32_t index = logical % pages_;
    return uint64_t{index < of.fill ? of.next : of.base} * pages_ + index;
  }
  const Counts& counts() const { return counts_; }
  uint32_t first_block() const { return blocks_.first(); }
  uint32_t erases(uint32_t block) const { return blocks_.erases(block); }
  bool IsUsed(uint32_t block) const { return used_[block] != 0; }
  // Whether that is for a reason.
  bool Reaches(uint32_t block) const {
    return std::any_of(of_.begin(), of_.end(), [&](const Logical& of) { return of.base == block || of.next == block; });
  }

 private:
  struct Logical {
    uint32_t base = kNone;
    uint32_t next = kNone;  // the block that is being filled
    uint32_t fill = 0;      // pages of it
    bool torn = false;      // the page behind them cannot be read: no other one can be put in its place
    uint64_t sequence = 0;  // of `next`
  };

  bool Is(Bug bug) const { return settings_.bug == bug; }

  Status Change(Kind kind, uint32_t logical, const void* data) {
    Logical& of = of_[logical / pages_];
    const uint32_t index = logical % pages_;
    if (of.next != kNone && of.torn) return Rewrite(&of, logical, kind, data);
    if (of.next != kNone && index < of.fill) {
      // "this would not be possible if j were less than i"
      if (!settings_.hardened) return RewriteInPlace(&of, logical, kind, data);
      const Status status = Finish(&of);
      if (status != Status::kOk) return status;
    }
    if (of.next == kNone) {
      const Status status = Begin(&of);
      if (status != Status::kOk) return status;
    }
    if (Is(Bug::kBaseErasedEarly) && of.base != kNone) {
      // The base is gone as soon as there is a new block; what is missing is in memory.
      if (!ReadFrom(of, of.fill) || !blocks_.Erase(of.base, Save())) return Status::kDamaged;
      Free(of.base);
      of.base = kNone;
      return WriteBack(&of, of.fill, logical, kind, data);
    }
    if (!Move(&of, index)) return Status::kDamaged;
    if (!Append(&of, index, kind, data, /*by_host=*/true)) return Status::kDamaged;
    there_[logical] = kind == Kind::kData;
    if (of.fill == pages_) Complete(&of);
    return Status::kOk;
  }

  // A new block for a logical one that has none which is being filled. One stays free, for Rewrite().
  Status Begin(Logical* of) {
    const size_t least = settings_.hardened ? 2 : 1;
    while (blocks_.free() < least) {
      // The one that was begun first, of those whose base will be free.
      Logical* oldest = nullptr;
      for (Logical& other : of_) {
        if (other.next == kNone || other.base == kNone) continue;
        if (oldest == nullptr || other.sequence < oldest->sequence) oldest = &other;
      }
      if (oldest == nullptr) break;
      const Status status = Finish(oldest);
      if (status != Status::kOk) return status;
    }
    of->next = TakeBlock();
    if (of->next == kNone) return Status::kFull;
    of->fill = 0;
    of->torn = false;
    of->sequence = blocks_.sequence++;
    return Status::kOk;
  }

  // Moves all that is missing to the block that is being filled.
  Status Finish(Logical* of) {
    if (of->torn) return Rewrite(of, kNone, Kind::kNone, nullptr);
    Mark<Medium>("ftl.finish");
    if (!Move(of, pages_)) return Status::kDamaged;
    Complete(of);
    return Status::kOk;
  }
  // Moves the pages before `end`.
  bool Move(Logical* of, uint32_t end) {
    while (of->fill < end) {
      const uint32_t index = of->fill;
      if (!ReadPage(*of, index)) return false;
      if (!Append(of, index, KindOf(of, index), buffer_.data(), /*by_host=*/false)) return false;
      ++counts_.moved;
    }
    return true;
  }
  void Complete(Logical* of) {
    if (of->base != kNone) Free(of->base);
    of->base = of->next;
    of->next = kNone;
    of->fill = 0;
  }

  // A third block for one whose second is torn, with all pages at once, and what is to be written (logical != kNone).
  // No page of it counts before all do.
  Status Rewrite(Logical* of, uint32_t logical, Kind kind, const void* data) {
    Logical whole{.next = TakeBlock(), .sequence = 0};
    if (whole.next == kNone) return Status::kFull;
    Mark<Medium>("ftl.rewrite");
    whole.sequence = blocks_.sequence++;
    for (uint32_t i = 0; i < pages_; ++i) {
      const uint32_t here = LogicalOf(of, i);
      if (here != logical && !ReadPage(*of, i)) return Status::kDamaged;
      const bool done = here == logical ? AppendTo(&whole, here, kind, data, false)
                                        : AppendTo(&whole, here, KindOf(of, i), buffer_.data(), false);
      if (!done) return Status::kDamaged;
      if (here != logical) ++counts_.moved;
    }
    if (logical != kNone) there_[logical] = kind == Kind::kData;
    if (of->base != kNone) Free(of->base);
    Free(of->next);
    *of = {.base = whole.next};
    return Status::kOk;
  }

  // 1.1, to the letter: "the entire block must be copied to memory, erased on the flash, and then copied back after
  // modification".
  Status RewriteInPlace(Logical* of, uint32_t logical, Kind kind, const void* data) {
    Mark<Medium>("ftl.finish");
    if (!ReadFrom(*of, 0)) return Status::kDamaged;
    if (of->base != kNone) Free(of->base);
    of->base = kNone;
    if (!blocks_.Erase(of->next, Save())) return Status::kDamaged;
    of->fill = 0;
    return WriteBack(of, 0, logical, kind, data);
  }
  // The pages from `first` on, to memory and back.
  bool ReadFrom(const Logical& of, uint32_t first) {
    memory_.resize(size_t{pages_} * buffer_.size());
    for (uint32_t i = first; i < pages_; ++i) {
      if (!ReadPage(of, i)) return false;
      std::copy(buffer_.begin(), buffer_.end(), memory_.begin() + static_cast<std::ptrdiff_t>(i * buffer_.size()));
    }
    return true;
  }
  Status WriteBack(Logical* of, uint32_t first, uint32_t logical, Kind kind, const void* data) {
    for (uint32_t i = first; i < pages_; ++i) {
      const bool own = LogicalOf(of, i) == logical;
      const void* const from = own ? data : &memory_[i * buffer_.size()];
      if (!Append(of, i, own ? kind : KindOf(of, i), from, own)) return Status::kDamaged;
      if (!own) ++counts_.moved;
    }
    there_[logical] = kind == Kind::kData;
    Complete(of);
    return Status::kOk;
  }

  // Page `index` of a logical block, or zeroes.
  bool ReadPage(const Logical& of, uint32_t index) {
    const uint32_t block = index < of.fill ? of.next : of.base;
    if (block == kNone) {
      std::fill(buffer_.begin(), buffer_.end(), 0);
      return true;
    }
    counts_.PageRead();
    Spare spare;
    return medium_->Read(uint64_t{block} * pages_ + index, buffer_.data(), &spare) == Reading::kOk;
  }
  uint32_t LogicalOf(const Logical* of, uint32_t index) const {
    return static_cast<uint32_t>(of - of_.data()) * pages_ + index;
  }
  Kind KindOf(const Logical* of, uint32_t index) const {
    return there_[LogicalOf(of, index)] != 0 ? Kind::kData : Kind::kTrimmed;
  }
  bool Append(Logical* of, uint32_t index, Kind kind, const void* data, bool by_host) {
    return AppendTo(of, LogicalOf(of, index), kind, data, by_host);
  }
  bool AppendTo(Logical* to, uint32_t logical, Kind kind, const void* data, bool by_host) {
    ++counts_.page_programs;
    return medium_->Program(uint64_t{to->next} * pages_ + to->fill++, data,
                            {.kind = kind,
                             .sequence = to->sequence,
                             .place = logical,
                             .erases = blocks_.erases(to->next),
                             .count = by_host ? 1u : 0u});
  }

  uint32_t TakeBlock() {
    const uint32_t block = blocks_.Take(Save());
    if (block != kNone) used_[block] = 1;
    return block;
  }
  void Free(uint32_t block) {
    used_[block] = 0;
    blocks_.Give(block);
  }
  void GiveUnused() {
    for (uint32_t block = blocks_.first(); block < blocks_.end(); ++block) {
      if (used_[block] == 0) blocks_.Give(block);
    }
  }
  static auto Save() {
    return [](std::vector<uint32_t>*) {};
  }

  // recovery: what a block holds.
  struct Piece {
    uint32_t block;
    uint64_t sequence;
    uint32_t fill;
    bool torn, by_host;
    std::vector<uint8_t> there;
  };
  bool Scan(uint32_t block, uint32_t* logical, Piece* out);

  Medium* medium_;
  const Settings settings_;
  const uint32_t pages_;  // of a block
  Counts counts_;
  Blocks<Medium> blocks_;
  std::vector<Logical> of_;
  std::vector<uint8_t> there_;  // of each logical page
  std::vector<uint8_t> used_;   // of each block
  std::vector<uint8_t> buffer_;
  std::vector<uint8_t> memory_;  // what a block held
};

template <typename Medium>
Status BlockMapped<Medium>::Open() {
  if (!blocks_.Recover()) return Status::kUnformatted;
  std::vector<std::vector<Piece>> pieces(of_.size());
  for (uint32_t block = blocks_.first(); block < blocks_.end(); ++block) {
    uint32_t logical;
    Piece piece;
    if (!Scan(block, &logical, &piece)) continue;
    blocks_.sequence = std::max(blocks_.sequence, piece.sequence + 1);
    pieces[logical / pages_].push_back(std::move(piece));
  }
  for (size_t i = 0; i < of_.size(); ++i) {
    Logical& of = of_[i];
    std::sort(pieces[i].begin(), pieces[i].end(),
              [](const Piece& a, const Piece& b) { return a.sequence > b.sequence; });
    for (const Piece& piece : pieces[i]) {
      const bool whole = piece.fill == pages_;
      // A block of copies alone is not needed: the originals of the copies are there.
      if (!whole && !piece.by_host && !Is(Bug::kCopiesCount)) continue;
      if (!whole && of.next != kNone) continue;
      used_[piece.block] = 1;
      for (uint32_t page = whole ? of.fill : 0; page < piece.fill; ++page)
        there_[i * pages_ + page] = piece.there[page];
      if (whole) {
        of.base = piece.block;
        break;
      }
      of.next = piece.block;
      of.fill = piece.fill;
      of.torn = piece.torn;
      of.sequence = piece.sequence;
    }
  }
  GiveUnused();
  return Status::kOk;
}

// False: no page of the block can be read that counts.
template <typename Medium>
bool BlockMapped<Medium>::Scan(uint32_t block, uint32_t* logical, Piece* out) {
  *out = {.block = block, .sequence = 0, .fill = 0, .torn = false, .by_host = false, .there = {}};
  for (uint32_t i = 0; i < pages_; ++i) {
    Spare spare;
    counts_.PageRead();
    const Reading reading = medium_->Read(uint64_t{block} * pages_ + i, nullptr, &spare);
    out->torn = reading == Reading::kUnreadable && !Is(Bug::kTornSpare);
    if (reading != Reading::kOk) break;
    const bool counts = spare.kind == Kind::kData || spare.kind == Kind::kTrimmed;
    if (!counts || spare.place >= there_.size() || spare.place % pages_ != i) return false;
    *logical = spare.place;
    out->sequence = spare.sequence;
    out->fill = i + 1;
    out->by_host = out->by_host || spare.count != 0;
    out->there.push_back(spare.kind == Kind::kData);
  }
  return out->fill != 0;
}

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_BLOCK_MAPPED_H_
