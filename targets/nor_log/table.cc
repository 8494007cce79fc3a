// Records, and the operations.
#include "targets/nor_log/table.h"

#include "targets/common/hash.h"
#include "targets/common/scheme_target.h"

namespace powercut::nor_log {

Table::Table(powercut_pool pool, const Options& options)
    : options_(options),
      device_(powercut_nor_in(pool, options.part())),
      record_bytes_(Up(sizeof(Header) + options.value_size)),
      slot_bytes_(record_bytes_ + 2 * Up(1)),
      slots_((options.sector - Up(kSectorHeader) - Up(kUse)) / slot_bytes_),
      states_(uint64_t{options.sectors} * slots_),
      generations_(options.sectors, 0) {}

uint32_t Table::Checksum(const void* bytes, size_t size, uint32_t seed) {
  return static_cast<uint32_t>(HashKey(static_cast<const uint8_t*>(bytes), size, seed));
}

bool Table::Program(uint64_t at, const void* data, uint32_t size) {
  uint8_t padded[sizeof(Header) + kMostValue + POWERCUT_NOR_MOST_UNIT];
  std::memset(padded, 0xff, Up(size));
  std::memcpy(padded, data, size);
  return powercut_nor_program(&device_, at, padded, Up(size)) == POWERCUT_NOR_OK;
}

// A status is one bit, so that it is never torn. The bug takes a whole unit, as a word of zeroes.
bool Table::SetStatus(uint64_t at) {
  uint8_t word[POWERCUT_NOR_MOST_UNIT];
  std::memset(word, Has(Bug::kProgramAgain) ? 0 : 0xff, options_.unit);
  word[0] &= 0xfe;
  return powercut_nor_program(&device_, at, word, options_.unit) == POWERCUT_NOR_OK;
}

bool Table::IsDead(uint32_t slot) const {
  static constexpr uint8_t kZeroes[POWERCUT_NOR_MOST_UNIT] = {};
  if (Has(Bug::kProgramAgain)) return powercut_nor_equals(&device_, DeadAt(slot), kZeroes, options_.unit) != 0;
  return IsSet(DeadAt(slot));
}

uint32_t Table::Find(const uint8_t* key) const {
  uint64_t word;
  std::memcpy(&word, key, kKey);
  for (uint32_t slot = 0; slot < states_.size(); ++slot) {
    if (states_[slot].kind == Kind::kLive && states_[slot].key == word) return slot;
  }
  return kNone;
}

uint32_t Table::FindFree() const {
  for (uint32_t slot = 0; slot < states_.size(); ++slot) {
    if (states_[slot].kind == Kind::kFree && slot / slots_ != spare_) return slot;
  }
  return kNone;
}

bool Table::Read(uint32_t slot, Header* header, uint8_t* value) const {
  uint8_t bytes[sizeof(Header) + kMostValue];
  const uint32_t size = sizeof(Header) + options_.value_size;
  if (powercut_nor_read(&device_, SlotAt(slot), bytes, size) != POWERCUT_NOR_OK) return false;
  std::memcpy(header, bytes, sizeof *header);
  std::memcpy(value, bytes + sizeof *header, options_.value_size);
  std::memset(bytes + offsetof(Header, checksum), 0, sizeof header->checksum);
  // A store that trusts its status has no checksums.
  return header->checksum == Checksum(bytes, size, 1) || Has(Bug::kStatusFirst);
}

bool Table::Write(uint32_t slot, const uint8_t* key, const uint8_t* value, uint32_t sequence) {
  uint8_t bytes[sizeof(Header) + kMostValue];
  const uint32_t size = sizeof(Header) + options_.value_size;
  Header header{.key = {}, .sequence = sequence, .checksum = 0};
  std::memcpy(header.key, key, kKey);
  std::memcpy(bytes, &header, sizeof header);
  std::memcpy(bytes + sizeof header, value, options_.value_size);
  header.checksum = Checksum(bytes, size, 1);
  std::memcpy(bytes, &header, sizeof header);
  states_[slot].kind = Kind::kUsed;
  if (Has(Bug::kStatusFirst) && !SetStatus(WholeAt(slot))) return false;
  if (!Program(SlotAt(slot), bytes, size)) return false;
  if (!Has(Bug::kStatusFirst) && !SetStatus(WholeAt(slot))) return false;
  states_[slot] = {.kind = Kind::kLive, .sequence = sequence, .key = 0};
  std::memcpy(&states_[slot].key, key, kKey);
  return true;
}

bool Table::Kill(uint32_t slot) {
  if (!SetStatus(DeadAt(slot))) return false;
  states_[slot].kind = Kind::kUsed;
  return true;
}

powercut_status Table::Append(const uint8_t* key, const uint8_t* value, uint32_t older) {
  if (FindFree() == kNone) {
    const powercut_status status = Collect();
    if (status != POWERCUT_OK) return status;
    if (older != kNone) older = Find(key);  // it may have moved
  }
  if (!Write(FindFree(), key, value, ++sequence_)) return POWERCUT_CORRUPT;
  return older == kNone || Kill(older) ? POWERCUT_OK : POWERCUT_CORRUPT;
}

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  const uint32_t older = Find(key);
  return older == kNone ? POWERCUT_NOT_FOUND : Append(key, value, older);
}

powercut_status Table::Erase(const uint8_t* key) {
  const uint32_t slot = Find(key);
  if (slot == kNone) return POWERCUT_NOT_FOUND;
  return Kill(slot) ? POWERCUT_OK : POWERCUT_CORRUPT;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) const {
  const uint32_t slot = Find(key);
  if (slot == kNone) return POWERCUT_NOT_FOUND;
  Header header;
  return Read(slot, &header, value) ? POWERCUT_OK : POWERCUT_CORRUPT;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) const {
  if (region == spare_ && !IsErased(spare_, true)) {
    return Broken(message, size, "the spare sector %u is not erased", spare_);
  }
  for (uint32_t i = 0; i < slots_; ++i) {
    const uint32_t slot = static_cast<uint32_t>(region) * slots_ + i;
    if (states_[slot].kind != Kind::kLive) continue;
    Header header;
    uint8_t value[kMostValue];
    if (Read(slot, &header, value) && header.sequence == states_[slot].sequence) continue;
    return Broken(message, size, "the record in slot %u of sector %u is not whole", i, static_cast<uint32_t>(region));
  }
  return POWERCUT_OK;
}

}  // namespace powercut::nor_log
