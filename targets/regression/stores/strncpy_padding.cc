// Recovery trusts that strncpy copies before it fills with zeros: the two are one store.
//
// class: stores in pieces
// bug: recovery-failed
// operations: [("insert", 1), ("insert", 2)]
// options: {"nested": 0}
#include "targets/regression/pair.h"

namespace {

constexpr size_t kName = 16;

struct Map final : regression::Slots {
  using Slots::Slots;
  char* name() { return reinterpret_cast<char*>(&root->word[0]); }
  void format() override {
    std::memset(name(), '?', kName);
    Slots::format();
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const char* volatile text = "pool";
    if (BUG) {
      std::strncpy(name(), text, kName);
    } else {
      std::strncpy(name(), text, 4);
      pmem::persist(name(), kName);
      std::memset(name() + 4, 0, kName - 4);
    }
    pmem::persist(name(), kName);
    return Slots::insert(key, value);
  }
  powercut_status recover() override {
    const powercut_status formatted = Slots::recover();
    if (formatted != POWERCUT_OK) return formatted;
    return name()[kName - 1] == '\0' && name()[0] != 'p' ? POWERCUT_CORRUPT : POWERCUT_OK;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
