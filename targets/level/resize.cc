// Resizing: in place (3.2(1)), or into a whole new table (Level-Trad of 4.2.6); log-free (3.3(3)).
//
// In place, sizes in buckets, [] = interim level, whose items are on their way into the two others:
//   expand   N, N/2  ->  2N, N, [N/2]  ->  2N, N
//   shrink   N, N/2  ->  N/2, N/4, [N] ->  N/2, N/4
// The paper argues that rehashing cannot fail when the table expands, and is silent where it shrinks. A tiny
// table can be unlucky, so a rehash that finds no place is turned into another state that is legal in itself:
//   shrink that does not fit   N/2, N/4, [N]  ->  N, N/2, [N/4]      (turned around; nothing to allocate)
//   otherwise                  N, N/2, [M]    ->  2N, N, [N/2, M]    (grown)
// and if the pool has no room to grow, the interim level stays attached: every operation but insert treats it
// as a level like the others, and the next insert that fails tries again.
#include <initializer_list>
#include <utility>

#include "targets/common/planted_bugs.h"
#include "targets/level/table.h"

namespace powercut::level {

powercut_status Table::Expand() {
  const ResizeGuard guard(locks_.get());
  return ExpandAlone();
}

powercut_status Table::Shrink() {
  const ResizeGuard guard(locks_.get());
  return ShrinkAlone();
}

powercut_status Table::ExpandFrom(uint8_t log2) {
  const ResizeGuard guard(Has(Bug::kExpandUnlocked) ? nullptr : locks_.get());
  return levels_[0].log2 == log2 ? ExpandAlone() : POWERCUT_OK;
}

powercut_status Table::ExpandAlone() {
  if (level_count_ > 2) return FinishResize(/*recovering=*/false);
  return options_.traditional ? ResizeTraditional(/*expand=*/true) : ResizeInPlace(/*expand=*/true);
}

powercut_status Table::ShrinkAlone() {
  if (level_count_ > 2) return POWERCUT_FULL;
  if (levels_[1].log2 == 0) return POWERCUT_FULL;  // the smallest table: two buckets above one
  const uint8_t target = levels_[0].log2 - 1;
  const powercut_status status =
      options_.traditional ? ResizeTraditional(/*expand=*/false) : ResizeInPlace(/*expand=*/false);
  if (status != POWERCUT_OK) return status;
  return levels_[0].log2 == target ? POWERCUT_OK : POWERCUT_FULL;
}

powercut_status Table::ResizeInPlace(bool expand) {
  LevelList next;
  if (expand) {
    if (!AllocateLevel(levels_[0].log2 + 1, &next)) return POWERCUT_FULL;
    next.Add(levels_[0]);
    next.Add(levels_[1]);
  } else {
    next.Add(levels_[1]);
    if (!AllocateLevel(levels_[1].log2 - 1, &next)) return POWERCUT_FULL;
    next.Add(levels_[0]);
  }
  Introduce(next, expand ? 0 : 1, 1, expand);
  return FinishResize(/*recovering=*/false);
}

powercut_status Table::ResizeTraditional(bool expand) {
  LevelList next;
  const uint8_t top = expand ? levels_[0].log2 + 1 : levels_[0].log2 - 1;
  if (!AllocateLevel(top, &next)) return POWERCUT_FULL;
  if (!AllocateLevel(top - 1, &next)) {
    FreeBlock(OffsetOf(next.level[0].base));
    return POWERCUT_FULL;
  }
  next.Add(levels_[0]);
  next.Add(levels_[1]);
  Introduce(next, 0, 2, expand);
  return FinishResize(/*recovering=*/false);
}

// New levels come into being empty: tokens, then descriptor, then state, each durable before the next.
void Table::Introduce(const LevelList& next, int fresh_at, int fresh_count, bool expand) {
  const auto each_fresh = [&](auto step) {
    for (int i = fresh_at; i < fresh_at + fresh_count; ++i) step(next.level[i]);
  };
  const bool tokens_late = expand && Has(Bug::kExpandUninitialised);
  const bool descriptor_late = expand && Has(Bug::kExpandCapacityFirst);
  if (!tokens_late) each_fresh([&](const Level& level) { InitialiseTokens(level); });
  if (!descriptor_late) each_fresh([&](const Level& level) { WriteDescriptor(level); });
  Publish(next, expand ? Bug::kCount : Bug::kShrinkTwoPointers);
  if (tokens_late) each_fresh([&](const Level& level) { InitialiseTokens(level); });
  if (descriptor_late) each_fresh([&](const Level& level) { WriteDescriptor(level); });
  pmem::mark(expand ? "expand.published" : "shrink.published");
}

powercut_status Table::FinishResize(bool recovering) {
  while (!RehashInterims(recovering)) {
    if (levels_[2].log2 > levels_[0].log2) {
      TurnAround();
    } else if (!Grow()) {
      return POWERCUT_FULL;
    }
  }
  const bool expand = levels_[2].log2 < levels_[0].log2;
  pmem::mark(expand ? "expand.rehashed" : "shrink.rehashed");
  uint64_t emptied[kMaxInterims];
  const int count = level_count_ - 2;
  for (int i = 0; i < count; ++i) emptied[i] = OffsetOf(levels_[2 + i].base);
  LevelList next;
  next.Add(levels_[0]);
  next.Add(levels_[1]);
  Publish(next, Bug::kCount);
  // Unpublished first, freed next: a cut in between leaves blocks that the next open sweeps.
  for (int i = 0; i < count; ++i) FreeBlock(emptied[i]);
  if (locks_ != nullptr) OrderSearch();
  pmem::mark(expand ? "expand.done" : "shrink.done");
  return POWERCUT_OK;
}

// Returns false if an item found no place; the item is still in its old slot.
//
// "Only the first item to be rehashed in the interim level may be inconsistent": items are rehashed in one order, so
// whatever came before the item that was cut is cleared already. The argument holds for older duplicates as well: the
// surplus copy that a cut leaves always comes first in this order.
bool Table::RehashInterims(bool recovering) {
  const ResizePause pause(Has(Bug::kRehashBeside) ? locks_.get() : nullptr);
  bool check_duplicate = recovering;
  for (int i = 2; i < level_count_; ++i) {
    Level& level = levels_[i];
    for (uint64_t b = 0; b < level.buckets(); ++b) {
      uint8_t* bucket = Bucket(level, b);
      for (uint32_t rest = geometry_.LoadTokens(bucket) & geometry_.full(); rest != 0; rest &= rest - 1) {
        const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
        if (!RehashItem({&level, bucket, slot, rest}, std::exchange(check_duplicate, false))) return false;
      }
    }
  }
  return true;
}

// 3.3(3): copy, set the token of the copy, clear the token of the original.
bool Table::RehashItem(const Place& place, bool check_duplicate) {
  Item item;
  geometry_.Load(geometry_.Slot(place.bucket, place.slot), &item);
  if (check_duplicate) {
    // "We only need to query the key of I_first in the top-two levels", which ForEachCopy visits first.
    const Place other = FindOtherCopy(Access(), item, place);
    if (other.found() && other.level < &levels_[2]) {
      pmem::mark("recover.duplicate");
      Clear(place);
      return true;
    }
  }
  DO_IF (Bug::kRehashClearFirst) Clear(place);
  Access alone;
  if (!PlaceItem(alone, item, geometry_.ProbeOf(item))) return false;
  pmem::mark("rehash.copied");
  SKIP_IF (Bug::kRehashClearFirst) Clear(place);
  return true;
}

// The old levels take over again; items that were already rehashed out of the old levels are rehashed back.
void Table::TurnAround() {
  LevelList next;
  if (level_count_ == 3) {
    for (int i : {2, 0, 1}) next.Add(levels_[i]);
  } else {
    for (int i : {2, 3, 0, 1}) next.Add(levels_[i]);
  }
  Publish(next, Bug::kCount);
  pmem::mark("resize.turned");
}

bool Table::Grow() {
  LevelList next;
  if (level_count_ == kMaxLevels || !AllocateLevel(levels_[0].log2 + 1, &next)) return false;
  for (int i = 0; i < level_count_; ++i) next.Add(levels_[i]);
  Introduce(next, 0, 1, /*expand=*/true);
  return true;
}

}  // namespace powercut::level
