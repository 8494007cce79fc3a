// Format and open.
#include <memory>
#include <new>

#include "targets/nor_log/table.h"

namespace powercut::nor_log {

powercut_status Table::Format(powercut_pool pool, const Options& options) {
  try {
    Table table(pool, options);
    if (table.device_.sectors < options.sectors) return POWERCUT_FULL;
    for (uint32_t sector = 0; sector < options.sectors; ++sector) {
      if (!table.Prepare(sector, false)) return POWERCUT_CORRUPT;
    }
    for (uint32_t sector = 0; sector + 1 < options.sectors; ++sector) {
      if (!table.Take(sector, {.victim = kNone, .generation = 0})) return POWERCUT_CORRUPT;
    }
    return POWERCUT_OK;
  } catch (const std::bad_alloc&) {
    return POWERCUT_FULL;
  }
}

powercut_status Table::Open(powercut_pool pool, const Options& options, Table** out) {
  try {
    std::unique_ptr<Table> table(new Table(pool, options));
    if (table->device_.sectors < options.sectors) return POWERCUT_BAD_CONFIG;
    const powercut_status status = table->Recover();
    if (status == POWERCUT_OK) *out = table.release();
    return status;
  } catch (const std::bad_alloc&) {
    return POWERCUT_FULL;
  }
}

// All sectors but one are in use. A sector that another one has taken the place of is given up, until it has a newer
// generation.
powercut_status Table::Recover() {
  std::vector<bool> formatted(options_.sectors), in_use(options_.sectors);
  std::vector<Use> uses(options_.sectors, Use{.victim = kNone, .generation = 0});
  for (uint32_t sector = 0; sector < options_.sectors; ++sector) {
    formatted[sector] = ReadSector(sector, &generations_[sector]);
    in_use[sector] = formatted[sector] && ReadUse(sector, &uses[sector]);
    if (formatted[sector] && generations_[sector] > generation_) generation_ = generations_[sector];
  }
  uint32_t given_up = kNone, count = 0;
  for (uint32_t sector = 0; sector < options_.sectors; ++sector) {
    const Use& use = uses[sector];
    if (!in_use[sector] || use.victim >= options_.sectors) continue;
    if (formatted[use.victim] && generations_[use.victim] > use.generation) continue;
    given_up = use.victim;
    if (use.generation > generation_) generation_ = use.generation;
  }
  if (given_up != kNone) in_use[given_up] = false;
  for (uint32_t sector = 0; sector < options_.sectors; ++sector) {
    if (in_use[sector]) {
      ++count;
    } else {
      spare_ = sector;
    }
  }
  if (count + 1 != options_.sectors) return POWERCUT_NOT_FORMATTED;
  const bool whole = formatted[spare_] && given_up == kNone;
  const bool erased = IsErased(spare_, whole);
  if (!(whole && erased) && !Prepare(spare_, erased)) return POWERCUT_CORRUPT;
  for (uint32_t slot = 0; slot < states_.size(); ++slot) {
    if (slot / slots_ != spare_) ReadSlot(slot);
  }
  return KillOlder() ? POWERCUT_OK : POWERCUT_CORRUPT;
}

// Whether all of the sector is erased, but for the header of a formatted one.
bool Table::IsErased(uint32_t sector, bool formatted) const {
  const uint32_t skip = formatted ? Up(kSectorHeader) : 0;
  if (!formatted && Has(Bug::kBlankHeader) && powercut_nor_is_blank(&device_, SectorAt(sector), Up(kSectorHeader))) {
    return true;
  }
  if (!formatted && Has(Bug::kHalfErased) && powercut_nor_is_blank(&device_, SectorAt(sector), Up(kSectorHeader)) &&
      powercut_nor_is_blank(&device_, SlotAt(sector * slots_), slot_bytes_)) {
    return true;
  }
  return powercut_nor_is_blank(&device_, SectorAt(sector) + skip, options_.sector - skip) != 0;
}

void Table::ReadSlot(uint32_t slot) {
  State& state = states_[slot];
  Header header;
  uint8_t value[kMostValue];
  state = {.kind = Kind::kUsed, .sequence = 0, .key = 0};
  if (!IsSet(WholeAt(slot))) {
    const bool blank = Has(Bug::kTornHeader) ? !Read(slot, &header, value)
                                             : powercut_nor_is_blank(&device_, SlotAt(slot), slot_bytes_) != 0;
    if (blank) state.kind = Kind::kFree;
    return;
  }
  // The status follows the record: a record that cannot be read is damaged.
  if (!Read(slot, &header, value)) return;
  if (header.sequence > sequence_) sequence_ = header.sequence;
  if (IsDead(slot)) return;
  state = {.kind = Kind::kLive, .sequence = header.sequence, .key = 0};
  std::memcpy(&state.key, header.key, kKey);
}

// An update that was cut leaves the older record as well.
bool Table::KillOlder() {
  for (uint32_t slot = 0; slot < states_.size(); ++slot) {
    if (states_[slot].kind != Kind::kLive) continue;
    for (uint32_t other = slot + 1; other < states_.size(); ++other) {
      if (states_[other].kind != Kind::kLive || states_[other].key != states_[slot].key) continue;
      const bool newer = states_[other].sequence > states_[slot].sequence;
      if (!Kill(newer ? slot : other)) return false;
      if (newer) break;
    }
  }
  return true;
}

}  // namespace powercut::nor_log
