// The operations of the port of Level hashing that clevel's authors measured, `published`: level_hash.hpp of their
// repository, races and all. Nothing is freed. Open finds no resize that was cut, since none is named durably.
#include "targets/common/spin_guard.h"
#include "targets/level_ptr/table.h"

namespace powercut::level_ptr {
namespace {

using level::Item;
using level::Level;
using level::Place;
using level::Probe;

// The lock of a slot, for readers or for one writer. Null: one thread.
class SlotGuard {
 public:
  SlotGuard(uint8_t* lock, bool alone) : lock_(lock), alone_(alone) {
    while (lock_ != nullptr) {
      uint8_t seen = pmem::atomic_load(lock_);
      const uint8_t next = alone_ ? kWriter : static_cast<uint8_t>(seen + 1);
      if (alone_ ? seen != 0 : seen == kWriter) {
        pmem::pause();
      } else if (__atomic_compare_exchange_n(lock_, &seen, next, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
      }
    }
  }
  SlotGuard(const SlotGuard&) = delete;
  SlotGuard& operator=(const SlotGuard&) = delete;
  ~SlotGuard() {
    if (lock_ == nullptr) return;
    if (alone_) {
      pmem::atomic_store(lock_, uint8_t{0});
    } else {
      __atomic_fetch_sub(lock_, uint8_t{1}, __ATOMIC_RELEASE);
    }
  }

 private:
  static constexpr uint8_t kWriter = 0xff;
  uint8_t* lock_;
  bool alone_;
};

}  // namespace

uint8_t* Table::SlotLock(const Place& place) const {
  if (locks_ == nullptr) return nullptr;
  const auto bucket = static_cast<uint64_t>(place.bucket - place.level->base) / geometry_.stride;
  return locks_->slot(*place.level, bucket * geometry_.slots + place.slot);
}

Place Table::PlaceAt(Level* level, uint64_t index, uint32_t slot) const {
  return {.level = level, .bucket = Bucket(*level, index), .slot = slot, .tokens = 0};
}

template <typename Visit>
bool Table::ForEachSlotOf(Level* level, const Probe& probe, bool by_slot, Visit visit) {
  for (uint32_t i = 0; i < 2 * geometry_.slots; ++i) {
    const int h = static_cast<int>(by_slot ? i % 2 : i / geometry_.slots);
    if (visit(PlaceAt(level, IndexOf(*level, probe, h), by_slot ? i / 2 : i % geometry_.slots))) return true;
  }
  return false;
}

void Table::SetTokenAsPorted(const Place& place, uint8_t token) {
  uint8_t* at = place.bucket + geometry_.header_at + place.slot;
  pmem::atomic_store(at, token);
  pmem::persist(at, sizeof *at);
}

// insert_empty_slot
void Table::FillAsPorted(const Place& place, const uint8_t* word) {
  uint8_t* slot = geometry_.Slot(place.bucket, place.slot);
  geometry_.Copy(slot, word);
  pmem::persist(slot, geometry_.item_size);
  SetTokenAsPorted(place, 1);
}

// generic_insert. It does not look for its key.
powercut_status Table::InsertAsPorted(Bytes key, Bytes value) {
  const uint64_t offset = NewItem(key, value, ItemBug::kInsertUnordered);
  if (offset == 0) return POWERCUT_FULL;
  const Item item = ItemOf(key, offset);
  for (;;) {
    if (pmem::atomic_load(&port_words()->need_resizing) != 0) {
      const powercut_status crossed = Cross();
      if (crossed != POWERCUT_OK) {
        FreeBlock(offset);
        return crossed;
      }
    }
    for (int i = 0; i < 2; ++i) {
      const bool placed = ForEachSlotOf(&levels_[i], item.probe, /*by_slot=*/true, [&](const Place& place) {
        const SlotGuard guard(SlotLock(place), /*alone=*/true);
        if (IsValid(place)) return false;
        pmem::mark(i == 0 ? "insert.top" : "insert.bottom");
        FillAsPorted(place, item.bytes);
        return true;
      });
      if (placed) return POWERCUT_OK;
    }
    for (int i = 0; i < 2; ++i) {
      for (int h = 0; h < 2; ++h) {
        if (PlaceByMovementAsPorted(&levels_[i], IndexOf(levels_[i], item.probe, h), item.bytes)) return POWERCUT_OK;
      }
    }
    // The bottom-to-top movement waits for a count of expansions that nobody counts.
    if (!options_.auto_expand) {
      FreeBlock(offset);
      return POWERCUT_FULL;
    }
    pmem::atomic_store(&port_words()->need_resizing, uint64_t{1});
  }
}

// try_movement. The item may have been erased while its slot was waited for.
bool Table::PlaceByMovementAsPorted(Level* level, uint64_t index, const uint8_t* word) {
  for (uint32_t i = 0; i < geometry_.slots; ++i) {
    const Place from = PlaceAt(level, index, i);
    const SlotGuard guard(SlotLock(from), /*alone=*/true);
    const uint8_t* slot = geometry_.Slot(from.bucket, from.slot);
    const Probe its = geometry_.ProbeAt(slot);
    const uint64_t first = IndexOf(*level, its, 0);
    const uint64_t other = first == index ? IndexOf(*level, its, 1) : first;
    for (uint32_t j = 0; j < geometry_.slots; ++j) {
      const Place to = PlaceAt(level, other, j);
      const SlotGuard to_guard(SlotLock(to), /*alone=*/true);
      if (IsValid(to)) continue;
      pmem::mark(level == &levels_[0] ? "move.top" : "move.bottom");
      FillAsPorted(to, slot);
      pmem::mark("move.copied");
      SetTokenAsPorted(from, 0);
      FillAsPorted(from, word);
      return true;
    }
  }
  return false;
}

// Runs `change(place)` on the first copy of the key, with its slot locked.
template <typename Change>
powercut_status Table::OnItem(const Item& item, bool alone, Change change) {
  for (int i = 0; i < 2; ++i) {
    const bool found = ForEachSlotOf(&levels_[i], item.probe, /*by_slot=*/false, [&](const Place& place) {
      const SlotGuard guard(SlotLock(place), alone);
      if (!Holds(place, item)) return false;
      change(place);
      return true;
    });
    if (found) return POWERCUT_OK;
  }
  return POWERCUT_NOT_FOUND;
}

// query. It answers with a place; who reads the value there has let go of the slot. Here the value is read before.
powercut_status Table::LookupAsPorted(Bytes key, ValueRoom* value) {
  if (pmem::atomic_load(&port_words()->need_resizing) != 0) {
    const powercut_status crossed = Cross();
    if (crossed != POWERCUT_OK) return crossed;
  }
  return OnItem(KeyItem(key), /*alone=*/false,
                [&](const Place& place) { value->Put(geometry_.ValueAt(geometry_.Slot(place.bucket, place.slot))); });
}

// erase: one copy. The item stays allocated.
powercut_status Table::EraseAsPorted(Bytes key) {
  if (pmem::atomic_load(&port_words()->need_resizing) != 0) {
    const powercut_status crossed = Cross();
    if (crossed != POWERCUT_OK) return crossed;
  }
  return OnItem(KeyItem(key), /*alone=*/true, [&](const Place& place) {
    pmem::mark("erase");
    SetTokenAsPorted(place, 0);
  });
}

// generic_update: it does not come to the barrier, and changes the slot under a reader's lock. Where the key is absent,
// the new item stays allocated; where it is not, the old one.
powercut_status Table::UpdateAsPorted(Bytes key, Bytes value) {
  const uint64_t offset = NewItem(key, value, ItemBug::kInsertUnordered);
  if (offset == 0) return POWERCUT_FULL;
  const Item item = ItemOf(key, offset);
  return OnItem(item, /*alone=*/false, [&](const Place& place) {
    pmem::mark("update.switched");
    FillAsPorted(place, item.bytes);
  });
}

// barrier::cross. The last thread that comes expands; a thread that has nothing more to do never comes.
powercut_status Table::Cross() {
  PortWords* words = port_words();
  LockSpin(&words->mutex);
  powercut_status status = POWERCUT_OK;
  const uint64_t crossing = words->crossing + 1;
  pmem::atomic_store(&words->crossing, crossing);
  if (crossing < options_.threads) {
    const uint64_t generation = pmem::atomic_load(&words->generation);
    pmem::atomic_store(&words->mutex, uint8_t{0});
    while (pmem::atomic_load(&words->generation) == generation) pmem::pause();
    LockSpin(&words->mutex);
  } else {
    pmem::mark("barrier.crossed");
    status = ExpandAsPorted();
    pmem::atomic_store(&words->crossing, uint64_t{0});
    pmem::atomic_store(&words->generation, words->generation + 1);
  }
  pmem::atomic_store(&words->mutex, uint8_t{0});
  return status;
}

// expand. The authors allocate the new level in one transaction, and put it into its place in another one; `interim` is
// named by nothing that open, a search or an update looks at. Without room their process ends by an exception.
powercut_status Table::ExpandAsPorted() {
  LevelList next;
  if (!AllocateLevel(levels_[0].log2 + 1, &next)) {
    pmem::atomic_store(&port_words()->need_resizing, uint64_t{0});
    return POWERCUT_FULL;
  }
  Level interim = next.level[0];
  InitialiseTokens(interim);
  WriteDescriptor(interim);
  pmem::mark("expand.allocated");
  Level& bottom = levels_[1];
  for (uint64_t b = 0; b < bottom.buckets(); ++b) {
    for (uint32_t i = 0; i < geometry_.slots; ++i) {
      const Place from = PlaceAt(&bottom, b, i);
      if (!IsValid(from)) continue;
      const uint8_t* slot = geometry_.Slot(from.bucket, from.slot);
      const bool placed = ForEachSlotOf(&interim, geometry_.ProbeAt(slot), /*by_slot=*/true, [&](const Place& to) {
        if (IsValid(to)) return false;
        FillAsPorted(to, slot);
        return true;
      });
      if (!placed) return POWERCUT_CORRUPT;  // the authors' process ends
      pmem::mark("rehash.copied");
      SetTokenAsPorted(from, 0);
    }
  }
  pmem::mark("expand.rehashed");
  const uint64_t emptied = OffsetOf(bottom.base);
  next.Add(levels_[0]);
  Publish(next, level::Bug::kCount);
  pmem::atomic_store(&port_words()->need_resizing, uint64_t{0});
  FreeBlock(emptied);
  pmem::mark("expand.done");
  return POWERCUT_OK;
}

}  // namespace powercut::level_ptr
