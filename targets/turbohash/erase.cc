// Delete (3.4, Algorithm 3): the slot stays valid, so that no search path ends where its item was.
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

powercut_status Table::Erase(const uint8_t* key) {
  const Path path = Find(HomeOf(key), key);
  if (path.found == nullptr) return POWERCUT_NOT_FOUND;
  const uint64_t cell = path.found->slots[path.slot].value;
  // `published`: the cell goes to the volatile garbage pool, of which recovery knows nothing.
  if (options_.pointer && options_.hardened && !Has(Bug::kItemNotLogged)) {
    LogItems(&path.found->slots[path.slot], 0, cell);
  }
  Meta meta = MetaOf(path.found);
  const auto bit = static_cast<uint16_t>(1u << path.slot);
  if (Has(Bug::kEraseClearsValid)) {
    meta.valid = static_cast<uint16_t>(meta.valid & ~bit);
  } else {
    meta.deleted |= bit;
  }
  ++meta.sequence;
  Commit(path.found, meta);
  pmem::mark("erase.committed");
  if (options_.pointer) {
    items_.Release(cell);
    pmem::fence();
  }
  return POWERCUT_OK;
}

}  // namespace powercut::turbohash
