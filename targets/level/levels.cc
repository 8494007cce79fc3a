// Which levels the table consists of. The paper does not say how the levels of a table are switched; here the
// root's `state` names them, and one 8-byte store switches from any set to any other. Whatever `state` does not
// name does not exist: neither a descriptor nor a block.
#include "targets/level/table.h"

namespace powercut::level {

bool Table::AllocateLevel(uint8_t log2, LevelList* list) {
  if (log2 >= 40 || list->count == kMaxLevels) return false;
  uint32_t used = 0;
  for (int i = 0; i < level_count_; ++i) used |= 1u << levels_[i].descriptor;
  for (int i = 0; i < list->count; ++i) used |= 1u << list->level[i].descriptor;
  const auto descriptor = static_cast<uint8_t>(std::countr_one(used));
  if (descriptor >= kDescriptors) return false;
  const uint64_t offset = AllocateBlock(uint64_t{geometry_.stride} << log2);
  if (offset == 0) return false;
  const Level level{.base = pool_.base + offset,
                    .mask = (uint64_t{1} << log2) - 1,
                    .items = 0,
                    .drift = 0,
                    .log2 = log2,
                    .descriptor = descriptor};
  if (locks_ != nullptr && !locks_->Cover(level, geometry_.slots)) {
    FreeBlock(offset);
    return false;
  }
  list->Add(level);
  return true;
}

// The block may have been a level before: its old tokens must be gone before the level exists.
void Table::InitialiseTokens(const Level& level) {
  for (uint64_t b = 0; b < level.buckets(); ++b) {
    uint8_t* bucket = Bucket(level, b);
    geometry_.StoreTokens(bucket, 0);
    if (Has(Bug::kLockInPool) && !geometry_.wide) std::memset(bucket + 4, 0, 4);
    pmem::flush_line(bucket + geometry_.header_at);
  }
  pmem::fence();
}

void Table::WriteDescriptor(const Level& level) {
  uint64_t* word = &root()->levels[level.descriptor];
  pmem::atomic_store(word, OffsetOf(level.base) | level.log2);
  pmem::persist(word, sizeof *word);
}

void Table::Publish(const LevelList& next, Bug torn_by) {
  State state;
  for (int i = 0; i < next.count; ++i) state.part[i] = next.level[i].descriptor;
  uint64_t* word = &root()->state;
  if (Has(torn_by)) {
    State half = State::Decode(*word);
    half.part[0] = state.part[0];
    pmem::atomic_store(word, half.Encode());
    pmem::persist(word, sizeof *word);
  }
  pmem::atomic_store(word, state.Encode());
  pmem::persist(word, sizeof *word);

  for (int i = 0; i < next.count; ++i) levels_[i] = next.level[i];
  level_count_ = next.count;
  SettleItems();  // the counts of top and bottom are those of other levels now
}

powercut_status Table::Attach() {
  const State state = State::Decode(root()->state);
  level_count_ = state.count();
  if (level_count_ < 2) return POWERCUT_CORRUPT;
  for (int i = 0; i < level_count_; ++i) {
    const uint8_t descriptor = state.part[i];
    if (descriptor >= kDescriptors) return POWERCUT_CORRUPT;
    const uint64_t word = root()->levels[descriptor];
    const uint64_t offset = word & ~(kUnit - 1);
    const auto log2 = static_cast<uint8_t>(word & (kUnit - 1));
    if (log2 >= 40 || !allocator_.Contains(offset, uint64_t{geometry_.stride} << log2)) return POWERCUT_CORRUPT;
    levels_[i] = {.base = pool_.base + offset,
                  .mask = (uint64_t{1} << log2) - 1,
                  .items = 0,
                  .drift = 0,
                  .log2 = log2,
                  .descriptor = descriptor};
  }
  return POWERCUT_OK;
}

bool Table::Reaches(uint64_t offset) const {
  for (int i = 0; i < level_count_; ++i) {
    if (OffsetOf(levels_[i].base) == offset) return true;
  }
  return false;
}

}  // namespace powercut::level
