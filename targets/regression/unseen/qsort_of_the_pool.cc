// An index of ids in the pool is sorted in place by qsort, whose moves nobody instrumented: a power cut loses an id.
//
// class: accesses that nobody saw
// bug: lost-item, recovery-failed
// operations: [("insert", 3), ("insert", 2), ("insert", 1)]
#include <cstdlib>

#include "targets/regression/pair.h"

namespace {

int by_number(const void* a, const void* b) {
  const uint64_t one = *static_cast<const uint64_t*>(a), other = *static_cast<const uint64_t*>(b);
  return one < other ? -1 : one > other;
}

// word[0]: how many slots there are; word[1] to word[6]: their numbers, by the first bytes of their keys.
struct Map final : regression::Slots {
  using Slots::Slots;
  powercut_status recover() override {
    if (root->magic != regression::kMagic) return POWERCUT_NOT_FORMATTED;
    for (uint64_t i = 2; i <= root->word[0]; ++i) {
      if (BUG && root->word[i] == root->word[i - 1]) return POWERCUT_CORRUPT;
    }
    return POWERCUT_OK;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const powercut_status status = Slots::insert(key, value);
    const regression::Slot* slot = find(key);
    if (status != POWERCUT_OK || slot == nullptr || root->word[0] == 6) return status;
    uint64_t number = 100 - static_cast<uint64_t>(slot - slots);
    root->word[root->word[0] + 1] = number;
    pmem::persist(root, sizeof *root);
    pmem::atomic_store(&root->word[0], root->word[0] + 1);
    pmem::persist(root, sizeof *root);
    std::qsort(&root->word[1], root->word[0], sizeof(uint64_t), by_number);
    pmem::persist(root, sizeof *root);
    return POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
