// Recovery compares two copies of a header through a pointer to memcmp, and refuses what an insert may leave.
//
// class: accesses that nobody saw
// bug: recovery-failed
#include "targets/regression/pair.h"

namespace {

int (*volatile compare)(const void*, const void*, size_t) = std::memcmp;

struct Map final : regression::Slots {
  using Slots::Slots;
  powercut_status recover() override {
    if (BUG && compare(&root->word[0], &root->word[3], 16) != 0) return POWERCUT_CORRUPT;
    return Slots::recover();
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const powercut_status status = Slots::insert(key, value);
    for (uint64_t word = 0; word < 5; ++word) root->word[word] += 1;
    pmem::persist(root, sizeof *root);
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
