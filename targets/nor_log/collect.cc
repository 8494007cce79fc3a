// Sectors: how one is prepared, taken into use and collected.
#include <algorithm>

#include "powercut/pmem.h"
#include "targets/nor_log/table.h"

namespace powercut::nor_log {

namespace {
constexpr uint32_t kMagic = 0x474c4f4e;  // "NOLG"
}  // namespace

// Writes the header of a sector, which is erased before if `erased` is not set. Numbers are stored with all bits turned
// round, so that few bits of a small one are programmed.
bool Table::Prepare(uint32_t sector, bool erased) {
  if (!erased && powercut_nor_erase(&device_, sector) != POWERCUT_NOR_OK) return false;
  const uint32_t words[2] = {kMagic, ~++generation_};
  uint32_t header[3] = {words[0], words[1], Checksum(words, sizeof words, 2)};
  generations_[sector] = generation_;
  for (uint32_t i = 0; i < slots_; ++i) states_[sector * slots_ + i] = {.kind = Kind::kFree, .sequence = 0, .key = 0};
  return Program(SectorAt(sector), header, sizeof header);
}

bool Table::Take(uint32_t sector, const Use& use) {
  const uint32_t words[3] = {kMagic, ~(use.victim + 1), ~use.generation};
  const uint32_t line[4] = {words[0], words[1], words[2], Checksum(words, sizeof words, 3)};
  return Program(UseAt(sector), line, sizeof line);
}

bool Table::ReadSector(uint32_t sector, uint32_t* generation) const {
  uint32_t words[2] = {kMagic, 0};
  if (!Equals(SectorAt(sector), kMagic) || !ReadWord(SectorAt(sector) + 4, &words[1])) return false;
  *generation = ~words[1];
  return Equals(SectorAt(sector) + 8, Checksum(words, sizeof words, 2));
}

bool Table::ReadUse(uint32_t sector, Use* use) const {
  uint32_t words[3] = {kMagic, 0, 0};
  const uint64_t at = UseAt(sector);
  if (!Equals(at, kMagic) || !ReadWord(at + 4, &words[1]) || !ReadWord(at + 8, &words[2])) return false;
  *use = {.victim = ~words[1] - 1, .generation = ~words[2]};
  return Equals(at + 12, Checksum(words, sizeof words, 3));
}

// Copies what is live in the sector with the least of it to the spare one, which takes its place. FULL if nothing would
// be won.
powercut_status Table::Collect() {
  pmem::mark("nor_log.collect");
  uint32_t victim = kNone, least = slots_;
  for (uint32_t sector = 0; sector < options_.sectors; ++sector) {
    if (sector == spare_) continue;
    const auto first = states_.begin() + static_cast<ptrdiff_t>(sector * slots_);
    const auto live = static_cast<uint32_t>(
        std::count_if(first, first + slots_, [](const State& state) { return state.kind == Kind::kLive; }));
    if (live < least) victim = sector, least = live;
  }
  if (victim == kNone) return POWERCUT_FULL;
  const uint32_t copy = spare_;
  const Use use = {.victim = victim, .generation = generations_[victim]};
  if (Has(Bug::kEraseBeforeCopies) && !Take(copy, use)) return POWERCUT_CORRUPT;
  for (uint32_t i = 0, to = copy * slots_; i < slots_; ++i) {
    const uint32_t from = victim * slots_ + i;
    if (states_[from].kind != Kind::kLive) continue;
    Header header;
    uint8_t value[kMostValue];
    if (!Read(from, &header, value) || !Write(to++, header.key, value, header.sequence)) return POWERCUT_CORRUPT;
    states_[from].kind = Kind::kUsed;
  }
  if (!Has(Bug::kEraseBeforeCopies) && !Take(copy, use)) return POWERCUT_CORRUPT;
  pmem::mark("nor_log.erase");
  spare_ = victim;
  return Prepare(victim, false) ? POWERCUT_OK : POWERCUT_CORRUPT;
}

}  // namespace powercut::nor_log
