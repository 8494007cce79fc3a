// The key's slot is kept in a std::map in memory, whose tree the C++ library balances without a hook; the word that
// publishes an item is not flushed.
//
// class: code without instrumentation
// bug: lost-item
// operations: [("insert", 1, 2, 3), ("erase", 2), ("insert", 4)]
// options: {"key_size": 8, "value_size": 8}
#include <map>

#include "targets/regression/pair.h"

using namespace powercut::regression;

namespace {

struct Table : Slots {
  std::map<uint64_t, Slot*> places;

  using Slots::Slots;
  static uint64_t id(const void* key) {
    uint64_t id;
    std::memcpy(&id, key, sizeof id);
    return id;
  }
  powercut_status recover() override {
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used == 1) places[id(slots[i].key)] = &slots[i];
    }
    return Slots::recover();
  }
  Slot* find(powercut_bytes key) override {
    const auto at = places.find(id(key.data));
    return at == places.end() ? nullptr : at->second;
  }
  void publish(Slot* slot) override {
    places[id(slot->key)] = slot;
    if (!BUG) return Slots::publish(slot);
    powercut::pmem::atomic_store(&slot->used, uint64_t{1});
  }
  powercut_status erase(powercut_bytes key) override {
    const powercut_status status = Slots::erase(key);
    places.erase(id(key.data));
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Table)
