// Twice the slots. All items are copied, without the tombstones, and the root names the new slots by one store.
#include "targets/common/planted_bugs.h"
#include "targets/linear/table.h"

namespace powercut::linear {

powercut_status Table::Maintain(const char*) { return Expand(); }

powercut_status Table::Expand() {
  const uint64_t old = root()->array, twice = 2 * slots(), bytes = ArrayBytes(twice);
  const uint64_t array = allocator_.Allocate(bytes);
  if (array == 0) return POWERCUT_FULL;
  uint8_t* to = pool_.base + array;
  std::memset(to, 0, bytes);
  std::memcpy(to, &twice, sizeof twice);
  uint64_t items = 0;
  for (uint64_t from = 0; from < slots(); ++from) {
    if (StateOf(from) != kFull) continue;
    uint64_t at = HashKey(KeyOf(from), options_.key_size) % twice;
    while (to[pmem::kLine + at * stride()] != kFree) at = (at + 1) % twice;
    std::memcpy(to + pmem::kLine + at * stride(), At(from), stride());
    ++items;
  }
  SKIP_IF (Bug::kExpandPublishEarly) pmem::persist(to, bytes);
  pmem::mark("expand.built");
  SetWord(&root()->array, array);
  DO_IF (Bug::kExpandPublishEarly) pmem::persist(to, bytes);
  pmem::mark("expand.published");
  used_ = items;
  // Unnamed first, freed next: a cut in between leaves a block that the next open sweeps.
  allocator_.Free(old);
  return POWERCUT_OK;
}

}  // namespace powercut::linear
