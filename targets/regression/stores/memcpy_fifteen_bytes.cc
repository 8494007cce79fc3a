// Recovery trusts that a memcpy of 15 bytes leaves its first word whole: the library's two moves overlap in its last
// byte.
//
// class: stores in pieces
// bug: recovery-failed
// operations: [("insert", 1), ("insert", 2)]
// options: {"nested": 0}
#include "targets/regression/pair.h"

namespace {

constexpr char kRecord[] = "nnnnnnnVvvvvvvv";  // a name, whether it is valid, a value

struct Map final : regression::Slots {
  using Slots::Slots;
  char* record() { return reinterpret_cast<char*>(&root->word[0]); }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    volatile size_t size = BUG ? 15 : 7;
    std::memcpy(record(), kRecord, size);
    pmem::persist(record(), 16);
    if (!BUG) {
      std::memcpy(record() + 8, kRecord + 8, 7);
      record()[7] = kRecord[7];
      pmem::persist(record(), 16);
    }
    return Slots::insert(key, value);
  }
  powercut_status recover() override {
    const powercut_status formatted = Slots::recover();
    if (formatted != POWERCUT_OK) return formatted;
    return record()[7] == 'V' && record()[0] != 'n' ? POWERCUT_CORRUPT : POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
