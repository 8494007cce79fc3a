// Recovery trusts that a memset of 2 KiB has written its beginning when it has written its end; also where caches
// survive, it is one store in flight.
//
// class: stores in pieces
// bug: recovery-failed
// operations: [("insert", 1), ("insert", 2)]
// options: {"nested": 0, "model": "eadr"}
#include "targets/regression/pair.h"

namespace {

constexpr uint64_t kArea = 2048;

struct Map final : regression::Slots {
  using Slots::Slots;
  uint8_t* area() { return reinterpret_cast<uint8_t*>(slots + count); }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    std::memset(area(), 1, kArea);
    pmem::persist(area(), kArea);
    pmem::atomic_store(&root->word[0], uint64_t{1});
    pmem::persist(root, sizeof *root);
    return Slots::insert(key, value);
  }
  powercut_status recover() override {
    const powercut_status formatted = Slots::recover();
    if (formatted != POWERCUT_OK) return formatted;
    const bool filled = BUG ? area()[kArea - 1] == 1 : root->word[0] == 1;
    return filled && area()[0] != 1 ? POWERCUT_CORRUPT : POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
