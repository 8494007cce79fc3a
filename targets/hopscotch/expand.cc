// Twice the buckets. All items are copied, and the root names the new buckets by one store.
#include "targets/common/planted_bugs.h"
#include "targets/hopscotch/table.h"

namespace powercut::hopscotch {

powercut_status Table::Maintain(const char*) { return Expand(); }

// Twice the buckets, or more: a neighbourhood of the larger table may still have no room.
powercut_status Table::Expand() {
  const uint64_t old = root()->array;
  for (uint64_t count = 2 * Current().count;; count *= 2) {
    const uint64_t bytes = ArrayBytes(count), array = allocator_.Allocate(bytes);
    if (array == 0) {
      pmem::mark("expand.refused");
      return POWERCUT_FULL;
    }
    uint8_t* to = pool_.base + array;
    std::memset(to, 0, bytes);
    std::memcpy(to, &count, sizeof count);
    if (!CopyItems(ArrayIn(array))) {
      allocator_.Free(array);
      continue;
    }
    SKIP_IF (Bug::kExpandPublishEarly) pmem::persist(to, bytes);
    pmem::mark("expand.built");
    SetWord(&root()->array, array);
    DO_IF (Bug::kExpandPublishEarly) pmem::persist(to, bytes);
    pmem::mark("expand.published");
    // Unnamed first, freed next: a cut in between leaves a block that the next open sweeps.
    allocator_.Free(old);
    return POWERCUT_OK;
  }
}

bool Table::CopyItems(const Array& to) {
  const Array from = Current();
  for (uint64_t b = 0; b < from.count; ++b) {
    if (!IsUsed(from, b)) continue;
    const uint64_t home = Home(to, KeyOf(from, b)), room = FindRoom(to, home);
    if (room == kNowhere) return false;
    Write(to, room, KeyOf(from, b), ValueOf(from, b), false);
    *HopAt(to, home) |= Bit(Distance(to, home, room));
  }
  return true;
}

}  // namespace powercut::hopscotch
