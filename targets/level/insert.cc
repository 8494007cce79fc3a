// Insertion (3.1, D2-D4), one movement a level, bottom-to-top movement (3.2(2)); log-free (3.3(2)).
#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Insert(const Item& item) {
  const Probe probe = HashKey(item.bytes, geometry_.wide);
  while (!PlaceItem(item, probe)) {
    if (!options_.auto_expand) return POWERCUT_FULL;
    const powercut_status status = Expand();
    if (status != POWERCUT_OK) return status;
  }
  return POWERCUT_OK;
}

bool Table::PlaceItem(const Item& item, const Probe& probe) {
  Level& top = levels_[0];
  Level& bottom = levels_[1];
  if (PlaceInLevel(top, probe, item)) return true;
  // The paper's text moves within the top level before it looks at the bottom level ("if no movement is
  // possible, we further insert ... into the bottom level"); `late` looks at all four buckets first.
  if (!options_.late_movement && PlaceByMovement(top, probe, item)) return true;
  if (PlaceInLevel(bottom, probe, item)) return true;
  if (options_.late_movement && PlaceByMovement(top, probe, item)) return true;
  if (PlaceByMovement(bottom, probe, item)) return true;
  return options_.b2t && PlaceByB2t(probe, item);
}

// D2: the less-loaded of the two buckets; the first one on a tie.
bool Table::PlaceInLevel(Level& level, const Probe& probe, const Item& item) {
  uint8_t* bucket = Bucket(level, probe.hash[0] & level.mask);
  uint32_t tokens = geometry_.LoadTokens(bucket) & geometry_.full();
  if (!SameBucket(level, probe)) {
    uint8_t* other = Bucket(level, probe.hash[1] & level.mask);
    const uint32_t other_tokens = geometry_.LoadTokens(other) & geometry_.full();
    if (std::popcount(other_tokens) < std::popcount(tokens)) {
      bucket = other;
      tokens = other_tokens;
    }
  }
  if (tokens == geometry_.full()) return false;
  const bool is_top = &level == &levels_[0];
  pmem::mark(is_top ? "insert.top" : "insert.bottom");
  Fill({&level, bucket, static_cast<uint32_t>(std::countr_one(tokens)), tokens}, item.bytes,
       is_top ? Bug::kInsertTopUnordered : Bug::kInsertBottomUnordered);
  return true;
}

// D4: moves one item of the two full buckets to its alternative bucket of the same level, takes its slot.
bool Table::PlaceByMovement(Level& level, const Probe& probe, const Item& item) {
  const bool is_top = &level == &levels_[0];
  for (int h = 0; h < 2; ++h) {
    if (h == 1 && SameBucket(level, probe)) break;
    const uint64_t index = probe.hash[h] & level.mask;
    uint8_t* bucket = Bucket(level, index);
    for (uint32_t slot = 0; slot < geometry_.slots; ++slot) {
      const uint8_t* occupant = geometry_.Slot(bucket, slot);
      const Probe its = HashKey(occupant, geometry_.wide);
      const uint64_t first = its.hash[0] & level.mask;
      const uint64_t alternative = first == index ? its.hash[1] & level.mask : first;
      if (alternative == index) continue;
      uint8_t* target = Bucket(level, alternative);
      const uint32_t tokens = geometry_.LoadTokens(target) & geometry_.full();
      if (tokens == geometry_.full()) continue;
      const Place from{&level, bucket, slot, geometry_.full()};
      if (!DropIfDuplicate(from)) {
        pmem::mark(is_top ? "move.top" : "move.bottom");
        MoveItem(from, {&level, target, static_cast<uint32_t>(std::countr_one(tokens)), tokens}, Bug::kMoveUnordered,
                 "move.copied");
      }
      Fill(from, item.bytes, Bug::kInsertAfterMoveUnordered);
      return true;
    }
  }
  return false;
}

// 3.2(2): moves one item of the two bottom buckets up to one of its top buckets, takes its slot.
bool Table::PlaceByB2t(const Probe& probe, const Item& item) {
  Level& top = levels_[0];
  Level& bottom = levels_[1];
  for (int h = 0; h < 2; ++h) {
    if (h == 1 && SameBucket(bottom, probe)) break;
    uint8_t* bucket = Bucket(bottom, probe.hash[h] & bottom.mask);
    for (uint32_t slot = 0; slot < geometry_.slots; ++slot) {
      const Probe its = HashKey(geometry_.Slot(bucket, slot), geometry_.wide);
      for (int up = 0; up < 2; ++up) {
        uint8_t* target = Bucket(top, its.hash[up] & top.mask);
        const uint32_t tokens = geometry_.LoadTokens(target) & geometry_.full();
        if (tokens == geometry_.full()) continue;
        const Place from{&bottom, bucket, slot, geometry_.full()};
        if (!DropIfDuplicate(from)) {
          pmem::mark("b2t");
          MoveItem(from, {&top, target, static_cast<uint32_t>(std::countr_one(tokens)), tokens}, Bug::kB2tUnordered,
                   "b2t.copied");
        }
        Fill(from, item.bytes, Bug::kInsertAfterMoveUnordered);
        return true;
      }
    }
  }
  return false;
}

// 3.3(2)b: copy, set the token of the copy, clear the token of the original. A power cut in between leaves two
// equal copies.
void Table::MoveItem(const Place& from, const Place& to, Bug unordered, const char* copied_mark) {
  if (Has(Bug::kMoveClearFirst)) Clear(from);
  Fill(to, geometry_.Slot(from.bucket, from.slot), unordered);
  pmem::mark(copied_mark);
  if (!Has(Bug::kMoveClearFirst)) Clear(from);
}

// A power cut during an earlier movement may have left a second copy of the item that is about to be moved. The
// paper's movement would make a third; `hardened` clears this one, which frees the slot as well.
bool Table::DropIfDuplicate(const Place& place) {
  if (!options_.hardened) return false;
  Item item;
  geometry_.Copy(item.bytes, geometry_.Slot(place.bucket, place.slot));
  if (!FindOtherCopy(item, place).found()) return false;
  pmem::mark("move.duplicate");
  Clear(place);
  return true;
}

}  // namespace powercut::level
