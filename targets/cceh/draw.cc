// Draws a CCEH table: the directory, then each segment with its lines of four slots.
#include "targets/cceh/table.h"
#include "targets/common/drawing.h"

namespace powercut::cceh {

namespace {

constexpr uint64_t kEntriesInRow = 8;

}  // namespace

// A segment is named by the first entry of the directory that leads to it.
void Table::Draw(Drawing* to) {
  using Number = unsigned long long;
  uint64_t* entries = directory_->entries();
  to->Group("directory");
  to->Word("depth", &directory_->depth, sizeof directory_->depth, "%llu", static_cast<Number>(directory_->depth));
  for (uint64_t entry = 0, first = 0; entry < directory_->capacity && to->Wants(); ++entry) {
    if (entries[entry] != entries[first]) first = entry;
    char label[16];
    std::snprintf(label, sizeof label, "%llu", static_cast<Number>(entry));
    to->Bucket(entry / kEntriesInRow);
    to->Word(label, &entries[entry], sizeof entries[entry], "segment %llu", static_cast<Number>(first));
  }

  if (options_.items == Items::kTransaction) {
    to->Group("undo log");
    to->Pointer("slot", &log()->slot);
  }

  to->Group("reserved keys");
  uint32_t number = 0;
  for (const uint64_t& key : {kInvalid, kSentinel}) {
    ReservedItem* item = Reserved(key);
    if (item->present != 0) {
      to->Item(number++, BytesOf(key), BytesOf(item->value), item, sizeof *item);
    } else {
      to->Empty(number++, item, sizeof *item);
    }
  }

  for (uint64_t entry = 0; entry < directory_->capacity && to->Wants(); ++entry) {
    if (entry != 0 && entries[entry - 1] == entries[entry]) continue;
    Segment* segment = SegmentOf(entry);
    const Meta meta = Meta::Decode(segment->meta);
    to->Group("segment %llu", static_cast<Number>(entry));
    to->Word("depth", &segment->meta, sizeof segment->meta, "%u", meta.depth);
    to->Word("pattern", &segment->meta, sizeof segment->meta, "0x%llx", static_cast<Number>(meta.pattern));
    to->Word("lock", &segment->lock, sizeof segment->lock, "%lld", static_cast<long long>(segment->lock));
    for (uint64_t i = 0; i < options_.slots && to->Wants(); ++i) {
      const Slot& slot = segment->slots()[i];
      const auto column = static_cast<uint32_t>(i % kSlotsPerLine);
      to->Bucket(i / kSlotsPerLine);
      if (IsReserved(slot.key)) {
        to->Empty(column, &slot, sizeof slot, slot.key == kSentinel ? "claimed" : nullptr);
      } else if (!meta.Covers(HashOfWord(slot.key))) {
        to->Empty(column, &slot, sizeof slot, "stale: of another segment");
      } else if (!HasPointers()) {
        to->Item(column, BytesOf(slot.key), BytesOf(slot.value), &slot, sizeof slot);
      } else if (HoldsItem(slot.value)) {
        to->Item(column, ItemAt(slot.value)->key(), ItemAt(slot.value)->value(), &slot, sizeof slot);
      } else {
        to->Empty(column, &slot, sizeof slot, "points to no item");
      }
    }
  }
}

}  // namespace powercut::cceh

POWERCUT_DRAWS(powercut::cceh::Table)
