// Regions and the structural invariants that hold after every recovery.
#include <cstdarg>
#include <cstdio>

#include "targets/level/table.h"

namespace powercut::level {
namespace {

[[gnu::format(printf, 3, 4)]] powercut_status Damaged(char* message, size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, size, format, arguments);
  va_end(arguments);
  return POWERCUT_CORRUPT;
}

}  // namespace

uint64_t Table::regions() const {
  uint64_t count = 1;
  for (int i = 0; i < level_count_; ++i) count += levels_[i].buckets();
  return count;
}

uint8_t* Table::RegionBucket(uint64_t region, const Level** level, uint64_t* index) const {
  if (region == 0) return nullptr;
  --region;
  for (int i = 0; i < level_count_; ++i) {
    if (region < levels_[i].buckets()) {
      *level = &levels_[i];
      *index = region;
      return Bucket(levels_[i], region);
    }
    region -= levels_[i].buckets();
  }
  return nullptr;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) {
    if (root()->log_slot != 0) return Damaged(message, size, "the undo log is still valid after recovery");
    for (int i = 0; i < level_count_; ++i) {
      for (int j = 0; j < i; ++j) {
        if (levels_[i].base == levels_[j].base)
          return Damaged(message, size, "levels %d and %d are the same block", j, i);
      }
    }
    for (int i = 0; i < level_count_; ++i) {
      const uint64_t bytes = uint64_t{geometry_.stride} << levels_[i].log2;
      bool allocated = false;
      allocator_.ForEach([&](uint64_t offset, uint64_t length) {
        allocated = allocated || (offset == OffsetOf(levels_[i].base) && length >= bytes);
      });
      if (!allocated)
        return Damaged(message, size, "level %d of 2^%d buckets lies in no block of its own", i, levels_[i].log2);
    }
    if (levels_[1].log2 + 1 != levels_[0].log2) {
      return Damaged(message, size, "the top level has 2^%d buckets and the bottom level 2^%d", levels_[0].log2,
                     levels_[1].log2);
    }
    return POWERCUT_OK;
  }
  const Level* level = nullptr;
  uint64_t index = 0;
  uint8_t* bucket = RegionBucket(region, &level, &index);
  if (bucket == nullptr) return POWERCUT_OK;
  const uint32_t tokens = geometry_.LoadTokens(bucket);
  if ((tokens & ~geometry_.full()) != 0) {
    return Damaged(message, size, "bucket %llu of the level of 2^%d: tokens 0x%x name slots beyond the last one",
                   static_cast<unsigned long long>(index), level->log2, tokens);
  }
  for (uint32_t rest = tokens; rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    const Probe probe = geometry_.ProbeAt(geometry_.Slot(bucket, slot));
    if (IndexOf(*level, probe, 0) != index && IndexOf(*level, probe, 1) != index) {
      return Damaged(message, size, "bucket %llu of the level of 2^%d: the item in slot %u belongs elsewhere",
                     static_cast<unsigned long long>(index), level->log2, slot);
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::level
