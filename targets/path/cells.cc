// Finding, inserting, deleting and updating (MSST'17; OSDI'18, 3.3). An insertion writes one cell and moves nothing.
#include <cstring>

#include "targets/common/hash.h"
#include "targets/common/planted_bugs.h"
#include "targets/path/table.h"

namespace powercut::path {

uint64_t Table::Leaf(const Tree& tree, const uint8_t* key, uint32_t path) const {
  const uint64_t hash = HashKey(key, options_.key_size, path);
  if (!options_.apart) return hash & ((uint64_t{1} << tree.leaves_log2) - 1);
  // Two paths from two halves meet in the root alone.
  const uint64_t half = uint64_t{1} << (tree.leaves_log2 - 1);
  return (hash & (half - 1)) + path * half;
}

uint8_t* Table::Find(const uint8_t* key) const {
  return ForEachOf(key, [](const uint8_t*) { return true; });
}

powercut_status Table::Insert(const uint8_t* key, const uint8_t* value) {
  for (;;) {
    uint8_t* cell = FindFree(tree_, key);
    if (cell != nullptr) {
      pmem::mark(IsLeaf(key, cell) ? "insert.leaf" : "insert.shared");
      Fill(cell, 0, bucket_.MakeItem(key, value).bytes, Has(Bug::kInsertTokenFirst));
      return POWERCUT_OK;
    }
    if (!options_.auto_expand) return POWERCUT_FULL;
    const powercut_status status = Expand();
    if (status != POWERCUT_OK) return status;
  }
}

powercut_status Table::Update(const uint8_t* key, const uint8_t* value) {
  uint8_t* cell = Find(key);
  if (cell == nullptr) return POWERCUT_NOT_FOUND;
  Overwrite(bucket_.Slot(cell, 0), bucket_.MakeItem(key, value).bytes, options_.update);
  return POWERCUT_OK;
}

powercut_status Table::Erase(const uint8_t* key) {
  uint8_t* cell = Find(key);
  if (cell == nullptr) return POWERCUT_NOT_FOUND;
  pmem::mark("erase");
  DO_IF (Bug::kEraseNotFlushed) bucket_.StoreTokens(cell, 0);
  SKIP_IF (Bug::kEraseNotFlushed) Clear(cell, 0);
  return POWERCUT_OK;
}

powercut_status Table::Lookup(const uint8_t* key, uint8_t* value) {
  uint8_t* cell = Find(key);
  if (cell == nullptr) return POWERCUT_NOT_FOUND;
  std::memcpy(value, bucket_.Slot(cell, 0) + options_.key_size, options_.value_size);
  return POWERCUT_OK;
}

}  // namespace powercut::path
