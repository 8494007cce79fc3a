// The blocks of a flash translation layer: the free blocks, the count of erases of each block, and the next block to
// write to. A block is erased when it is taken and not before. In `hardened` a note in the journal records each count
// before the erase.
#ifndef POWERCUT_TARGETS_COMMON_FTL_BLOCKS_H_
#define POWERCUT_TARGETS_COMMON_FTL_BLOCKS_H_

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "targets/common/ftl/journal.h"
#include "targets/common/ftl/medium.h"
#include "targets/common/ftl/settings.h"

namespace powercut::ftl {

template <typename Medium>
class Blocks {
 public:
  using Found = typename Journal<Medium>::Found;
  // Words of a snapshot before those of the layer.
  static constexpr uint32_t kWords = 8;

  // `state`: words that a layer keeps in a snapshot.
  Blocks(Medium* medium, Counts* counts, const Settings& settings, uint32_t kind, uint32_t state)
      : medium_(medium),
        counts_(counts),
        settings_(settings),
        kind_(kind),
        journal_(medium, counts, kWords + medium->geometry().blocks + state, settings.bug),
        erases_(medium->geometry().blocks, 0),
        noted_(medium->geometry().blocks, kNone) {}

  // Returns a geometry with all blocks: the journal's blocks, and behind them the data blocks. The journal also keeps
  // the counts of its own blocks.
  static Geometry WithJournal(Geometry geometry, const Settings& settings, uint32_t state) {
    geometry.blocks = settings.blocks;
    while (settings.hardened) {
      const uint32_t blocks =
          settings.blocks + 2 * Journal<Medium>::AreaBlocks(geometry, kWords + geometry.blocks + state);
      if (blocks == geometry.blocks) break;
      geometry.blocks = blocks;
    }
    return geometry;
  }

  uint32_t first() const { return settings_.hardened ? journal_.blocks() : 0; }
  uint32_t end() const { return medium_->geometry().blocks; }
  uint32_t erases(uint32_t block) const { return erases_[block]; }
  size_t free() const { return free_.size(); }
  uint64_t sequence = 1;  // of the next page, or block

  void Give(uint32_t block) { free_.push({erases_[block], block}); }

  // The least worn free block, erased; kNone if there is none, or if the device refuses. `save` adds the layer's words
  // to a snapshot.
  template <typename Save>
  uint32_t Take(Save save) {
    Mark<Medium>("ftl.take");
    if (free_.empty() || !MakeRoom(save)) return kNone;
    const uint32_t block = free_.top().second;
    free_.pop();
    if (Ready(block, /*opens=*/settings_.checkpoint)) return block;
    Give(block);
    return kNone;
  }
  // Erases a block that is not free.
  template <typename Save>
  bool Erase(uint32_t block, Save save) {
    return MakeRoom(save) && Ready(block, /*opens=*/settings_.checkpoint);
  }

  // A new device.
  template <typename Save>
  bool Format(Save save) {
    return !settings_.hardened || Checkpoint(save);
  }
  // The counts of all blocks. Nothing: there is no journal.
  std::optional<Found> Recover() {
    Found found;
    if (settings_.hardened) {
      if (!journal_.Recover(&found)) return std::nullopt;
      const std::vector<uint32_t> root = Root();
      // But for the sequence number.
      if (!std::equal(root.begin(), root.begin() + kWords - 2, found.words.begin())) return std::nullopt;
      sequence = found.words[kWords - 2] | uint64_t{found.words[kWords - 1]} << 32;
      for (uint32_t block = 0; block < end(); ++block) erases_[block] = found.words[kWords + block];
      found.words.erase(found.words.begin(), found.words.begin() + kWords + end());
    }
    for (const auto& note : found.notes) {
      if (note.block < end()) noted_[note.block] = note.erases;
    }
    for (uint32_t block = 0; block < end(); ++block) {
      // With a checkpoint, a block without a note is unchanged since the snapshot.
      if (settings_.checkpoint && block >= first() && noted_[block] == kNone) continue;
      erases_[block] = ErasesOf(block);
    }
    return found;
  }

 private:
  // The count that a page of the block says, or else the journal: README.md.
  uint32_t ErasesOf(uint32_t block) {
    Spare spare;
    const Reading reading = FirstReadable(block, &spare);
    if (reading == Reading::kOk) return spare.erases;
    if (noted_[block] == kNone) return erases_[block];
    return noted_[block] - (reading == Reading::kUnreadable ? 1 : 0);  // its erase was interrupted
  }

  // kOk: a page that can be read; kErased: none before one that was not programmed; kUnreadable: none at all.
  Reading FirstReadable(uint32_t block, Spare* spare, uint32_t* at = nullptr) {
    const uint32_t pages = medium_->geometry().pages_per_block;
    for (uint32_t i = 0; i < pages; ++i) {
      counts_->PageRead();
      const Reading reading = medium_->Read(uint64_t{block} * pages + i, nullptr, spare);
      if (at != nullptr) *at = i;
      if (reading != Reading::kUnreadable) return reading;
    }
    return Reading::kUnreadable;
  }

  // Erases the block unless it is, with a note before. `opens`: a note in any case.
  bool Ready(uint32_t block, bool opens) {
    const uint64_t first = uint64_t{block} * medium_->geometry().pages_per_block;
    Spare spare;
    uint32_t at = 0;
    const Reading reading = FirstReadable(block, &spare, &at);
    const bool erased = reading == Reading::kErased && at == 0;
    if (!settings_.hardened || settings_.bug == Bug::kWearLost) return erased || EraseNow(block);
    if (reading == Reading::kErased && at != 0) {
      // No page records the block's count of erases, and the next note will count the next erase. A filler page
      // therefore records the present count.
      Mark<Medium>("ftl.count_behind_torn");
      ++counts_->page_programs;
      medium_->Program(first + at, nullptr, {.kind = Kind::kFiller, .erases = erases_[block]});
    }
    if (!erased || opens) Note(block, erases_[block] + (erased ? 0 : 1));
    return erased || EraseNow(block);
  }
  bool EraseNow(uint32_t block) {
    ++counts_->block_erases;
    ++erases_[block];
    Mark<Medium>("ftl.erase");
    return medium_->Erase(block);
  }
  void Note(uint32_t block, uint32_t erases) {
    if (noted_[block] == erases) return;
    noted_[block] = erases;
    journal_.Add({block, erases}, erases_[journal_.next_block()]);
  }

  // Room for a note.
  template <typename Save>
  bool MakeRoom(Save save) {
    return !settings_.hardened || !journal_.nearly_full() || Checkpoint(save);
  }
  template <typename Save>
  bool Checkpoint(Save save) {
    const uint32_t other = journal_.other();
    for (uint32_t block = other; block < other + journal_.area_blocks(); ++block) {
      if (!Ready(block, /*opens=*/false)) return false;
    }
    std::vector<uint32_t> words = Root();
    words.insert(words.end(), erases_.begin(), erases_.end());
    save(&words);
    noted_.assign(noted_.size(), kNone);
    Mark<Medium>("ftl.snapshot");
    return journal_.Begin(words, erases_);
  }
  std::vector<uint32_t> Root() const {
    const Geometry& geometry = medium_->geometry();
    return {0x4c544650,  // "PFTL"
            kind_,
            geometry.blocks,
            geometry.pages_per_block,
            geometry.page_size,
            settings_.logical,
            static_cast<uint32_t>(sequence),
            static_cast<uint32_t>(sequence >> 32)};
  }

  using Free = std::pair<uint32_t, uint32_t>;  // erases, block

  Medium* medium_;
  Counts* counts_;
  const Settings settings_;
  const uint32_t kind_;
  Journal<Medium> journal_;
  std::vector<uint32_t> erases_;
  std::vector<uint32_t> noted_;  // of each block: the count in its last note since the snapshot
  std::priority_queue<Free, std::vector<Free>, std::greater<Free>> free_;
};

}  // namespace powercut::ftl
#endif  // POWERCUT_TARGETS_COMMON_FTL_BLOCKS_H_
