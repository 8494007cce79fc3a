// Which slot arrays the table consists of. The papers do not say how a table is switched; here the root's `state`
// names its arrays, and one 8-byte store switches from any set to any other. Whatever `state` does not name does not
// exist: neither a descriptor nor a block.
#include "targets/common/cuckoo/table.h"

namespace powercut::cuckoo {

bool Table::AllocateArray(uint8_t log2, SlotArray* out) {
  if (log2 > 28) return false;
  uint32_t used = 0;
  for (int i = 0; i < array_count_; ++i) used |= 1u << arrays_[i].descriptor;
  const auto descriptor = static_cast<uint8_t>(std::countr_one(used));
  const uint64_t offset = allocator_.Allocate(geometry_.Bytes(log2));
  if (offset == 0) return false;
  *out = {.base = pool_.base + offset,
          .mask = (uint64_t{1} << log2) - 1,
          .log2 = log2,
          .descriptor = descriptor,
          .published = true};
  return true;
}

// The block may have been an array before: its old tokens must be gone before the array exists.
void Table::InitialiseTokens(const SlotArray& array) const {
  const uint8_t* flushed = nullptr;
  for (uint64_t b = 0; b < AllBuckets(array); ++b) {
    const Place place{&array, b, 0};
    const Shape& shape = ShapeOf(place);
    uint8_t* header = BucketAt(place) + shape.header_at;
    shape.StoreHeader(BucketAt(place), 0);
    // Small buckets share lines, and the stores to a line come one after the other: one flush, after the last.
    if (flushed != nullptr && (OffsetOf(flushed) ^ OffsetOf(header)) / pmem::kLine != 0) pmem::flush_line(flushed);
    flushed = header;
  }
  pmem::flush_line(flushed);
  pmem::fence();
}

void Table::WriteDescriptor(const SlotArray& array) const {
  uint64_t* word = &root()->arrays[array.descriptor];
  pmem::atomic_store(word, OffsetOf(array.base) | array.log2);
  pmem::persist(word, sizeof *word);
}

void Table::Publish(const ArrayList& next) {
  State state;
  for (int i = 0; i < next.count; ++i) state.part[i] = next.array[i].descriptor;
  uint64_t* word = &root()->state;
  pmem::atomic_store(word, state.Encode());
  pmem::persist(word, sizeof *word);
  for (int i = 0; i < next.count; ++i) {
    arrays_[i] = next.array[i];
    arrays_[i].published = true;
  }
  array_count_ = next.count;
  if (locks_ != nullptr) locks_->SetTable(TableNumber());
}

powercut_status Table::Attach() {
  const State state = State::Decode(root()->state);
  array_count_ = state.count();
  if (array_count_ < 1) return POWERCUT_CORRUPT;
  for (int i = 0; i < array_count_; ++i) {
    const uint8_t descriptor = state.part[i];
    if (descriptor >= kDescriptors) return POWERCUT_CORRUPT;
    const uint64_t word = root()->arrays[descriptor];
    const uint64_t offset = word & ~(kUnit - 1);
    const auto log2 = static_cast<uint8_t>(word & (kUnit - 1));
    if (log2 > 28 || !allocator_.Contains(offset, geometry_.Bytes(log2))) return POWERCUT_CORRUPT;
    arrays_[i] = {.base = pool_.base + offset,
                  .mask = (uint64_t{1} << log2) - 1,
                  .log2 = log2,
                  .descriptor = descriptor,
                  .published = true};
  }
  return POWERCUT_OK;
}

bool Table::Reaches(uint64_t offset) const {
  for (int i = 0; i < array_count_; ++i) {
    if (OffsetOf(arrays_[i].base) == offset) return true;
  }
  return false;
}

}  // namespace powercut::cuckoo
