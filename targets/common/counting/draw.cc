// What a table looks like on its device: data blocks, change segment, overflow pages. The RAM buffer is no part of it.
#include <algorithm>

#include "targets/common/counting/table.h"
#include "targets/common/drawing.h"

namespace powercut::counting {

void Table::Draw(Drawing* to) {
  std::vector<Part> parts;
  for (uint32_t slot = 0; slot < options_.blocks; ++slot) {
    for (const Part& part : PartsOf(slot)) {
      if (part.page != kInBuffer) parts.push_back(part);
    }
  }
  const auto page = [&](uint64_t number, uint64_t bucket, uint32_t entries) {
    if (!device_.Read(number, page_.data())) return;
    const Page read = In(page_);
    const PageHeader& header = read.header();
    const void* const at = device_.PlaceOf(number);
    to->Bucket(bucket);
    if (header.kind != Kind::kNone) {
      to->Word("page", at, Device::kPlaceSize, "slot %u, number %u, generation %llu, merged %llu", header.owner,
               header.index, static_cast<unsigned long long>(header.generation),
               static_cast<unsigned long long>(header.merged));
    }
    for (uint32_t i = 0; i < entries; ++i) {
      if (read.tag(i) == Tag::kEmpty) {
        to->Empty(i, at, Device::kPlaceSize);
        continue;
      }
      char label[24];
      std::snprintf(label, sizeof label, "entry %u", i);
      const auto part = std::find_if(parts.begin(), parts.end(),
                                     [&](const Part& one) { return one.page == number && one.index == i; });
      if (read.tag(i) == Tag::kPointer) {
        to->Word("overflow", at, Device::kPlaceSize, "page %llu", static_cast<unsigned long long>(read.entry(i).key));
      } else if (part == parts.end() || part->covered || part->count == 0) {
        to->Word(label, at, Device::kPlaceSize, "%lld, does not count", static_cast<long long>(read.entry(i).count));
      } else {
        to->Item(i, reinterpret_cast<const uint8_t*>(&part->key), reinterpret_cast<const uint8_t*>(&part->count), at,
                 Device::kPlaceSize, read.tag(i) == Tag::kErased ? "erased before" : nullptr);
      }
    }
  };
  for (uint32_t slot = 0; slot < options_.blocks && to->Wants(); ++slot) {
    to->Group("data block %u", slot);
    if (place_[slot] == kNowhere) continue;
    for (uint32_t p = 0; p < options_.pages; ++p) page(BlockAt(place_[slot]) + p, p, options_.entries);
  }
  for (uint32_t log = 0; log < geometry_.logs && to->Wants(); ++log) {
    to->Group(geometry_.logs == 1 ? "change segment" : "change block %u", log);
    for (uint32_t p = 0; p < logs_[log].used; ++p) page(logs_[log].first + p, p, options_.entries);
  }
  to->Group("overflow");
  for (uint32_t p = 0; p < geometry_.overflow_pages && to->Wants(); ++p) {
    if (overflow_used_[p] != 0) page(geometry_.overflow + p, p, options_.entries);
  }
}

}  // namespace powercut::counting

POWERCUT_DRAWS(powercut::counting::Table)
