// Regions and the structural invariants that hold after every recovery.
#include "targets/common/cuckoo/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cuckoo {

uint64_t Table::regions() const {
  uint64_t count = 1;
  for (int i = 0; i < array_count_; ++i) count += AllBuckets(arrays_[i]);
  return count;
}

Place Table::RegionBucket(uint64_t region) {
  if (region == 0) return {};
  --region;
  for (int i = 0; i < array_count_; ++i) {
    if (region < AllBuckets(arrays_[i])) return {&arrays_[i], region, 0};
    region -= AllBuckets(arrays_[i]);
  }
  return {};
}

powercut_status Table::VerifyRoot(char* message, size_t size) {
  if (root()->log_slot != 0) return Broken(message, size, "the undo log is still valid after recovery");
  for (int i = 0; i < array_count_; ++i) {
    for (int j = 0; j < i; ++j) {
      if (arrays_[i].base == arrays_[j].base) {
        return Broken(message, size, "slot arrays %d and %d are the same block", j, i);
      }
    }
    const uint64_t bytes = geometry_.Bytes(arrays_[i].log2);
    bool allocated = false;
    allocator_.ForEach([&](uint64_t offset, uint64_t length) {
      allocated = allocated || (offset == OffsetOf(arrays_[i].base) && length >= bytes);
    });
    if (!allocated) {
      return Broken(message, size, "slot array %d of 2^%d buckets lies in no block of its own", i, arrays_[i].log2);
    }
  }
  return POWERCUT_OK;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (region == 0) return VerifyRoot(message, size);
  Place place = RegionBucket(region);
  if (!place.found()) return POWERCUT_OK;
  const Shape& shape = ShapeOf(place);
  const uint64_t header = shape.LoadHeader(BucketAt(place));
  const auto index = static_cast<unsigned long long>(place.index);
  if ((shape.LoadTokens(BucketAt(place)) & ~shape.full()) != 0) {
    return Broken(message, size, "bucket %llu: header 0x%llx names slots beyond the last one", index,
                  static_cast<unsigned long long>(header));
  }
  for (uint32_t rest = Tokens(place); rest != 0; rest &= rest - 1) {
    place.slot = static_cast<uint32_t>(std::countr_zero(rest));
    const Item item = Load(place);
    const Probe probe = ProbeOf(item.bytes);
    if (options_.tags && Shape::TagIn(header, place.slot) != probe.tag()) {
      return Broken(message, size, "bucket %llu: the tag of slot %u is not that of its key", index, place.slot);
    }
    if (!InStash(place) && Home(*place.array, probe, 0) != place.index && Home(*place.array, probe, 1) != place.index) {
      return Broken(message, size, "bucket %llu: the item in slot %u belongs elsewhere", index, place.slot);
    }
    for (uint32_t later = rest & (rest - 1); later != 0; later &= later - 1) {
      const auto slot = static_cast<uint32_t>(std::countr_zero(later));
      if (geometry_.KeyEquals(shape.Slot(BucketAt(place), slot), item.bytes)) {
        return Broken(message, size, "bucket %llu: slots %u and %u hold the same key", index, place.slot, slot);
      }
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::cuckoo
