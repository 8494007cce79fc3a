// The table's own thread makes an update, and the client waits for the thread. The thread does none of its work, so the
// client waits for ever.
//
// class: threads
// bug: unusable
// cut: none needed
// operations: []
// options: {"threads": [[("insert", 2)], [("lookup", 1)]], "warmup": [("insert", 1)], "value_size": 8}
#include <atomic>

#include "targets/regression/pair.h"

using namespace powercut::regression;
namespace pmem = powercut::pmem;

namespace {

struct Table : Slots {
  using Slots::Slots;
  std::atomic<uint32_t> wanted = 0;  // 1: what stands beside it is to be done
  powercut_status answer = POWERCUT_OK;
  uint8_t wanted_key[sizeof(Slot::key)] = {};
  uint64_t wanted_value = 0;

  static powercut_status check(const powercut_config& config) {
    return config.value_size == sizeof(uint64_t) ? Slots::check(config) : POWERCUT_BAD_CONFIG;
  }
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
  }
  powercut_status update(powercut_bytes key, powercut_bytes value) override {
    std::memcpy(wanted_key, key.data, key.size);
    std::memcpy(&wanted_value, value.data, sizeof wanted_value);
    wanted.store(1);
    while (wanted.load() != 0) pmem::pause();
    return answer;
  }
  powercut_status work() {
    if (BUG || wanted.load() == 0) return POWERCUT_NOT_FOUND;
    Slot* slot = find({wanted_key, key_size});
    answer = slot == nullptr ? POWERCUT_NOT_FOUND : POWERCUT_OK;
    if (slot != nullptr) {
      pmem::atomic_store(reinterpret_cast<uint64_t*>(slot->value), wanted_value);
      pmem::persist(slot->value, sizeof wanted_value);
    }
    wanted.store(0);
    return POWERCUT_OK;
  }
};

}  // namespace

extern "C" const powercut_background* powercut_target_background() {
  static const powercut_background background = {
      .threads = [](powercut_table*) -> uint32_t { return 1; },
      .work = [](powercut_table* table, uint32_t) { return static_cast<Table*>(table)->work(); }};
  return &background;
}

POWERCUT_PAIR(Table)
