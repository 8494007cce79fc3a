// Insertion (3.1, D2-D4), one movement a level, bottom-to-top movement (3.2(2)); log-free (3.3(2)).
#include <utility>

#include "targets/common/planted_bugs.h"
#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Insert(const Item& item) {
  const Probe probe = geometry_.ProbeOf(item);
  // The paper inserts keys that are absent. Beside other threads only an insert that looks can tell.
  const bool checks = locks_ != nullptr && options_.hardened;
  if (checks && Has(Bug::kExistsUnlocked) && Find(Access(), item).found()) return POWERCUT_EXISTS;
  int also = Access::kNone;
  while (true) {
    Access access(locks_.get(), probe, also);
    if (checks && Find(access, item).found()) return POWERCUT_EXISTS;
    DO_IF (Bug::kInsertCheckApart) access.Release();
    DO_IF (Bug::kInsertCheckApart) access.Acquire();
    if (PlaceItem(access, item, probe)) return POWERCUT_OK;
    // An item that could have been moved belongs to another operation: wait for this operation, and begin again.
    also = access.wanted();
    if (also != Access::kNone) continue;
    if (!options_.auto_expand) return POWERCUT_FULL;
    const uint8_t log2 = levels_[0].log2;
    access.Release();
    const powercut_status status = ExpandFrom(log2);
    if (status != POWERCUT_OK) return status;
  }
}

bool Table::PlaceItem(Access& access, const Item& item, const Probe& probe) {
  Level& top = levels_[0];
  Level& bottom = levels_[1];
  if (PlaceInLevel(access, top, probe, item)) return true;
  // The paper's text moves within the top level before it looks at the bottom level: "if no movement is possible, we
  // further insert ... into the bottom level". The option `late` looks at all four buckets first.
  if (!options_.late_movement && PlaceByMovement(access, top, probe, item)) return true;
  if (PlaceInLevel(access, bottom, probe, item)) return true;
  if (options_.late_movement && PlaceByMovement(access, top, probe, item)) return true;
  if (PlaceByMovement(access, bottom, probe, item)) return true;
  return options_.b2t && PlaceByB2t(access, probe, item);
}

// D2: the less-loaded of the two buckets; the first one on a tie.
bool Table::PlaceInLevel(const Access& access, Level& level, const Probe& probe, const Item& item) {
  Place place;
  SpinGuard guard;
  do {
    uint8_t* bucket = Bucket(level, IndexOf(level, probe, 0));
    uint32_t tokens = geometry_.LoadTokens(bucket) & geometry_.full();
    if (!SameBucket(level, probe)) {
      uint8_t* other = Bucket(level, IndexOf(level, probe, 1));
      const uint32_t other_tokens = geometry_.LoadTokens(other) & geometry_.full();
      if (std::popcount(other_tokens) < std::popcount(tokens)) {
        bucket = other;
        tokens = other_tokens;
      }
    }
    if (tokens == geometry_.full()) return false;
    place = {&level, bucket, 0, tokens};
  } while (!TakeEmpty(access, EmptySlots(place), &place, &guard));
  const bool is_top = &level == &levels_[0];
  pmem::mark(is_top ? "insert.top" : "insert.bottom");
  Fill(place, item.bytes, is_top ? Bug::kInsertTopUnordered : Bug::kInsertBottomUnordered);
  return true;
}

// D4: moves one item of the two full buckets to its alternative bucket of the same level, takes its slot.
bool Table::PlaceByMovement(Access& access, Level& level, const Probe& probe, const Item& item) {
  const bool is_top = &level == &levels_[0];
  for (int h = 0; h < 2; ++h) {
    if (h == 1 && SameBucket(level, probe)) break;
    const uint64_t index = IndexOf(level, probe, h);
    uint8_t* bucket = Bucket(level, index);
    for (uint32_t slot = 0; slot < geometry_.slots; ++slot) {
      const Place from{&level, bucket, slot, geometry_.full()};
      SpinGuard guard(LockOf(access, from));
      if (!WasErased(access, from)) {
        const Probe its = geometry_.ProbeAt(geometry_.Slot(bucket, slot));
        const uint64_t first = IndexOf(level, its, 0);
        const uint64_t alternative = first == index ? IndexOf(level, its, 1) : first;
        if (alternative == index) continue;
        uint8_t* target = Bucket(level, alternative);
        const uint32_t tokens = geometry_.LoadTokens(target) & geometry_.full();
        if (tokens == geometry_.full() && !LocksTaken(access)) continue;
        const Movement how{Bug::kMoveUnordered, is_top ? "move.top" : "move.bottom", "move.copied"};
        if (!Vacate(access, from, &guard, its, {&level, target, 0, tokens}, how)) continue;
      }
      Fill(from, item.bytes, Bug::kInsertAfterMoveUnordered);
      return true;
    }
  }
  return false;
}

// 3.2(2): moves one item of the two bottom buckets up to one of its top buckets, takes its slot.
bool Table::PlaceByB2t(Access& access, const Probe& probe, const Item& item) {
  Level& top = levels_[0];
  Level& bottom = levels_[1];
  for (int h = 0; h < 2; ++h) {
    if (h == 1 && SameBucket(bottom, probe)) break;
    uint8_t* bucket = Bucket(bottom, IndexOf(bottom, probe, h));
    for (uint32_t slot = 0; slot < geometry_.slots; ++slot) {
      const Place from{&bottom, bucket, slot, geometry_.full()};
      SpinGuard guard(LockOf(access, from));
      bool vacant = WasErased(access, from);
      if (!vacant) {
        const Probe its = geometry_.ProbeAt(geometry_.Slot(bucket, slot));
        for (int up = 0; up < 2 && !vacant; ++up) {
          uint8_t* target = Bucket(top, IndexOf(top, its, up));
          const uint32_t tokens = geometry_.LoadTokens(target) & geometry_.full();
          if (tokens == geometry_.full() && !LocksTaken(access)) continue;
          const Movement how{Bug::kB2tUnordered, "b2t", "b2t.copied"};
          vacant = Vacate(access, from, &guard, its, {&top, target, 0, tokens}, how);
        }
      }
      if (!vacant) continue;
      Fill(from, item.bytes, Bug::kInsertAfterMoveUnordered);
      return true;
    }
  }
  return false;
}

// The bucket was full when it was looked at. The authors' code does not look again under the lock, and moves an item
// that was erased in between.
bool Table::WasErased(const Access& access, const Place& place) const {
  if (access.alone() || access.slots_only() || Has(Bug::kMoveErased)) return false;
  return !IsValid(place);
}

// Makes room in the slot `from`, whose lock `guard` holds: moves its item to an empty slot of the bucket of `to`.
// False: there is none, or another operation owns the item.
bool Table::Vacate(Access& access, const Place& from, SpinGuard* guard, const Probe& its, Place to,
                   const Movement& how) {
  const uint8_t* item = geometry_.Slot(from.bucket, from.slot);
  Item early;
  DO_IF (Bug::kMoveStaleCopy) geometry_.Copy(early.bytes, std::exchange(item, early.bytes));
  DO_IF (Bug::kMoveStaleCopy) guard->Unlock();
  if (!Has(Bug::kMoveUnowned) && !access.Own(its)) return false;
  DO_IF (Bug::kMoveStaleCopy) guard->Lock(LockOf(access, from));
  if (Has(Bug::kMoveStaleCopy) && !Holds(from, early)) return false;
  if (IsDuplicate(access, from, guard)) {
    pmem::mark("move.duplicate");
    Clear(from);
    return true;
  }
  SpinGuard to_guard;
  const uint32_t slots = LocksTaken(access) ? geometry_.full() : EmptySlots(to);
  if (!TakeEmpty(access, slots, &to, &to_guard)) return false;
  pmem::mark(how.mark);
  MoveItem(from, to, item, how);
  return true;
}

// 3.3(2)b: copy, set the token of the copy, clear the token of the original. A power cut in between leaves two
// equal copies.
void Table::MoveItem(const Place& from, const Place& to, const uint8_t* item, const Movement& how) {
  DO_IF (Bug::kMoveClearFirst) Clear(from);
  Fill(to, item, how.unordered);
  pmem::mark(how.copied_mark);
  SKIP_IF (Bug::kMoveClearFirst) Clear(from);
}

// A power cut during an earlier movement may have left a second copy of the item that is about to be moved. The
// paper's movement would make a third; `hardened` clears this one, which frees the slot as well.
//
// No slot is held while others are looked at; the item stays where it is, since this operation owns it.
bool Table::IsDuplicate(const Access& access, const Place& place, SpinGuard* guard) {
  if (!options_.hardened) return false;
  Item item;
  geometry_.Load(geometry_.Slot(place.bucket, place.slot), &item);
  guard->Unlock();
  const bool found = FindOtherCopy(access, item, place).found();
  guard->Lock(LockOf(access, place));
  return found;
}

}  // namespace powercut::level
