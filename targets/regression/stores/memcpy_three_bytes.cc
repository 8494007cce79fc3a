// Recovery trusts that a memcpy of 3 bytes within a word is whole: the library makes two moves of it.
//
// class: stores in pieces
// bug: recovery-failed
// operations: [("insert", 1), ("insert", 2)]
// options: {"nested": 0}
#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  char* record() { return reinterpret_cast<char*>(&root->word[0]); }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    if (BUG) {
      volatile size_t size = 3;
      std::memcpy(record(), "idV", size);
    } else {
      // One move of 4 bytes.
      constexpr uint32_t kWord = 'i' | 'd' << 8 | 'V' << 16;
      pmem::atomic_store(reinterpret_cast<uint32_t*>(record()), kWord);
    }
    pmem::persist(record(), 8);
    return Slots::insert(key, value);
  }
  powercut_status recover() override {
    const powercut_status formatted = Slots::recover();
    if (formatted != POWERCUT_OK) return formatted;
    return record()[2] == 'V' && record()[0] != 'i' ? POWERCUT_CORRUPT : POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
