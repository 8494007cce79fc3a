// Recovery checks a header by std::hash<std::string_view>, whose code nobody instrumented: an insert changes the header
// and its checksum one after the other.
//
// class: accesses that nobody saw
// bug: recovery-failed
#include <functional>
#include <string_view>

#include "targets/regression/pair.h"

namespace {

struct Map final : regression::Slots {
  using Slots::Slots;
  uint64_t checksum() const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(root->word), 2 * sizeof(uint64_t)});
  }
  void format() override {
    root->word[3] = checksum();
    Slots::format();
  }
  powercut_status recover() override {
    if (BUG && root->word[3] != checksum()) return POWERCUT_CORRUPT;
    return Slots::recover();
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    const powercut_status status = Slots::insert(key, value);
    root->word[0] += 1;
    root->word[3] = checksum();
    pmem::persist(root, sizeof *root);
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
