// The persistent steps that every operation is made of.
#include "targets/common/cuckoo/table.h"
#include "targets/common/planted_bugs.h"

namespace powercut::cuckoo {

void Table::Persist(const SlotArray& array, const uint8_t* at, uint64_t size) const {
  if (array.published) pmem::persist(at, size);
}

void Table::PersistSlot(const Place& place, const uint8_t* slot) const {
  // A slot of the packed layout may straddle two lines; both must be written back.
  Persist(*place.array, slot, Has(Bug::kFlushFirstLine) ? 1 : geometry_.item_size);
}

// Token and tag share the header, and one store sets both.
void Table::SetToken(const Place& place, uint8_t tag) const {
  const Shape& shape = ShapeOf(place);
  uint8_t* bucket = BucketAt(place);
  uint64_t header = shape.LoadHeader(bucket) | uint64_t{1} << place.slot;
  if (options_.tags && !Has(Bug::kTagLate)) header = Shape::WithTag(header, place.slot, tag);
  shape.StoreHeader(bucket, header);
  if (!(InStash(place) && Has(Bug::kStashUnflushed))) {
    Persist(*place.array, bucket + shape.header_at, shape.header_size);
  }
  if (options_.tags && Has(Bug::kTagLate)) {
    shape.StoreHeader(bucket, Shape::WithTag(header, place.slot, tag));
    Persist(*place.array, bucket + shape.header_at, shape.header_size);
  }
}

void Table::Fill(const Place& place, const Item& item, const Probe& probe, Bug unordered) const {
  uint8_t* bucket = BucketAt(place);
  uint8_t* slot = SlotAt(place);
  // libcuckoo's setKV stores the tag, the item and the occupied flag in this order.
  if (options_.tags && !options_.hardened) {
    uint8_t* tag = bucket + 1 + place.slot;
    pmem::atomic_store(tag, probe.tag());
    Persist(*place.array, tag, 1);
  }
  geometry_.Copy(slot, item.bytes);
  SKIP_IF (unordered) PersistSlot(place, slot);
  SetToken(place, probe.tag());
  DO_IF (unordered) PersistSlot(place, slot);
}

void Table::Clear(const Place& place) const {
  const Shape& shape = ShapeOf(place);
  uint8_t* bucket = BucketAt(place);
  shape.StoreHeader(bucket, shape.LoadHeader(bucket) & ~(uint64_t{1} << place.slot));
  Persist(*place.array, bucket + shape.header_at, shape.header_size);
}

// A power cut between the last two steps leaves two equal copies. If an earlier cut has left a second copy already,
// the paper's movement would make a third; `hardened` clears this one, which frees the slot as well.
void Table::Move(const Place& from, const Place& to, Bug clear_first, const char* copied_mark) {
  const Item item = Load(from);
  if (options_.hardened && !Has(Bug::kMoveDuplicate) && from.array->published && FindOtherCopy(from).found()) {
    pmem::mark("move.duplicate");
    Clear(from);
    return;
  }
  DO_IF (clear_first) Clear(from);
  Fill(to, item, ProbeOf(item.bytes), Bug::kMoveUnordered);
  Mark(*from.array, copied_mark);
  SKIP_IF (clear_first) Clear(from);
}

void Table::Overwrite(const Place& place, const Item& item) const {
  if (options_.tags) {
    uint8_t* tag = BucketAt(place) + 1 + place.slot;
    pmem::atomic_store(tag, ProbeOf(item.bytes).tag());
    Persist(*place.array, tag, 1);
  }
  uint8_t* slot = SlotAt(place);
  geometry_.Copy(slot, item.bytes);
  PersistSlot(place, slot);
}

Item Table::Load(const Place& place) const {
  Item item;
  geometry_.Copy(item.bytes, SlotAt(place));
  return item;
}

}  // namespace powercut::cuckoo
