// Regions and the structural invariants that hold after every recovery.
#include "targets/clevel/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::clevel {

uint64_t Table::regions() {
  uint64_t count = 1;
  const View& view = this->view();
  for (int i = 0; i < view.count; ++i) count += view.levels[i].buckets();
  return count;
}

const uint64_t* Table::RegionBucket(uint64_t region, const Level** level, uint64_t* index) const {
  if (region == 0) return nullptr;
  --region;
  for (int i = 0; i < worker_.view.count; ++i) {
    *level = &worker_.view.levels[i];
    *index = region;
    if (region < (*level)->buckets()) return (*level)->slots + region * options_.slots;
    region -= (*level)->buckets();
  }
  return nullptr;
}

bool Table::ReachesLevel(uint64_t offset) const {
  for (int i = 0; i < worker_.view.count; ++i) {
    if (worker_.view.levels[i].offset == offset) return true;
  }
  // Appended to the level list, and not in the context yet.
  return worker_.view.first().header->up == offset;
}

bool Table::ReachesItem(uint64_t offset) const {
  if (!HoldsItem(offset)) return false;
  const Bytes key = KeyOf(offset);
  const Probe probe(key);
  for (int i = 0; i < worker_.view.count; ++i) {
    const Level& level = worker_.view.levels[i];
    for (const uint64_t hash : probe.hash) {
      const uint64_t* bucket = level.slots + (hash & level.mask) * options_.slots;
      for (uint32_t s = 0; s < options_.slots; ++s) {
        const uint64_t word = pmem::atomic_load(&bucket[s]);
        if (OffsetIn(word) == offset && IsLive(word)) return true;
      }
    }
  }
  return false;
}

bool Table::Reaches(uint64_t offset) {
  if (options_.concurrent) {
    view();  // operations have views of their own
    if (IsRetired(offset)) return true;
  }
  return offset == OffsetIn(root()->context) || ReachesLevel(offset) || ReachesItem(offset);
}

powercut_status Table::VerifyRoot(char* message, size_t size) const {
  const View& view = worker_.view;
  for (int i = 1; i < view.count; ++i) {
    if (view.levels[i].header->log2 != view.levels[i - 1].header->log2 + 1) {
      return Broken(message, size, "level %d has 2^%llu buckets and the one below it 2^%llu", i,
                    static_cast<unsigned long long>(view.levels[i].header->log2),
                    static_cast<unsigned long long>(view.levels[i - 1].header->log2));
    }
  }
  if (view.is_resizing != (view.count > 2)) {
    return Broken(message, size, "%d levels, and the context says that the table is %sbeing resized", view.count,
                  view.is_resizing ? "" : "not ");
  }
  if (options_.concurrent) return VerifyProgress(message, size);
  const uint64_t rehashed = root()->rehashed;
  if (rehashed > (view.is_resizing ? view.last().buckets() : 0)) {
    return Broken(message, size,
                  "%llu buckets are rehashed, of a last level of %llu in a table that is %sbeing resized",
                  static_cast<unsigned long long>(rehashed), static_cast<unsigned long long>(view.last().buckets()),
                  view.is_resizing ? "" : "not ");
  }
  return POWERCUT_OK;
}

// Verifies the progress of the rehashing threads.
powercut_status Table::VerifyProgress(char* message, size_t size) const {
  const View& view = worker_.view;
  for (uint32_t number = 0; number < strides(); ++number) {
    const uint64_t rehashed = RehashedOf(number, view.last());
    const uint64_t most = view.is_resizing ? (view.last().buckets() + strides() - 1) / strides() : 0;
    if (rehashed <= most) continue;
    return Broken(message, size,
                  "rehashing thread %u has rehashed %llu buckets, of a last level of %llu in a table that is %sbeing "
                  "resized",
                  number, static_cast<unsigned long long>(rehashed),
                  static_cast<unsigned long long>(view.last().buckets()), view.is_resizing ? "" : "not ");
  }
  return POWERCUT_OK;
}

powercut_status Table::Verify(uint64_t region, char* message, size_t size) {
  if (options_.concurrent) view();
  if (region == 0) return VerifyRoot(message, size);
  const Level* level = nullptr;
  uint64_t index = 0;
  const uint64_t* bucket = RegionBucket(region, &level, &index);
  if (bucket == nullptr) return POWERCUT_OK;
  for (uint32_t s = 0; s < options_.slots; ++s) {
    const uint64_t word = pmem::atomic_load(&bucket[s]);
    if (word == 0) continue;
    const auto at = [&](const char* what) {
      return Broken(message, size, "slot %u of bucket %llu of the level of 2^%llu: %s", s,
                    static_cast<unsigned long long>(index), static_cast<unsigned long long>(level->header->log2), what);
    };
    if (MarksSlots() && (word & kMarkMask) != 0) return at("bears the mark of an operation that has ended");
    if (!HoldsItem(OffsetIn(word))) return at("names a block that is not allocated");
    const ItemHeader* header = HeaderOf(word);
    if (!options_.Takes(header->key_size, header->value_size)) {
      return at("the item has other sizes than the table takes");
    }
    const Probe probe(KeyOf(word));
    if (word >> kOffsetBits != probe.tag()) return at("the tag is not that of the key");
    if (level == &worker_.view.levels[0] && IsRehashed(*level, index) && !IsCopied(worker_.view, word)) {
      return at("the item lies in a bucket that was rehashed, and nowhere else");
    }
    if ((probe.hash[0] & level->mask) != index && (probe.hash[1] & level->mask) != index) {
      return at("the item belongs elsewhere");
    }
  }
  return POWERCUT_OK;
}

}  // namespace powercut::clevel
