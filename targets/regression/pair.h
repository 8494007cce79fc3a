// The map that pairs are made of: an array of slots, a line each. A pair derives from the map, and replaces the piece
// that its bug is about.
#ifndef POWERCUT_TARGETS_REGRESSION_PAIR_H_
#define POWERCUT_TARGETS_REGRESSION_PAIR_H_

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "powercut/pmem.h"
#include "powercut/target.h"

#ifndef BUG
#error "a pair is compiled with BUG 0 and with BUG 1"
#endif

struct powercut_table {};

namespace powercut::regression {

inline constexpr uint64_t kMagic = 0x31524941505f4350;

// One item, in one line. The slot counts when `used` is 1, whatever its other words hold.
struct alignas(pmem::kLine) Slot {
  uint64_t used;
  uint8_t key[16];
  uint8_t value[40];
};

struct alignas(pmem::kLine) Root {
  uint64_t magic;
  uint64_t word[7];  // for pairs
};

inline constexpr uint64_t kSlots = 16;

// The open table. Every call of the target is a virtual function; sizes are those of the scenario.
class Slots : public powercut_table {
 public:
  Root* root;
  Slot* slots;
  uint64_t count;
  uint32_t key_size, value_size;

  Slots(powercut_pool pool, const powercut_config& config)
      : root(reinterpret_cast<Root*>(pool.base)),
        slots(reinterpret_cast<Slot*>(root + 1)),
        count(kSlots),
        key_size(config.key_size),
        value_size(config.value_size) {}
  virtual ~Slots() = default;

  static powercut_status check(const powercut_config& config) {
    return config.key_size <= sizeof(Slot::key) && config.value_size <= sizeof(Slot::value) ? POWERCUT_OK
                                                                                            : POWERCUT_BAD_CONFIG;
  }
  static void declare(powercut_traits* traits) {
    traits->copy_bound = 1;
    traits->needs_zeroed_pool = 1;
  }

  virtual void format() {
    root->magic = kMagic;
    pmem::persist(root, sizeof *root);
  }
  virtual powercut_status recover() { return root->magic == kMagic ? POWERCUT_OK : POWERCUT_NOT_FORMATTED; }

  virtual bool same_key(const Slot& slot, powercut_bytes key) { return std::memcmp(slot.key, key.data, key.size) == 0; }
  virtual void write_item(Slot* slot, powercut_bytes key, powercut_bytes value) {
    std::memcpy(slot->key, key.data, key.size);
    std::memcpy(slot->value, value.data, value.size);
  }
  virtual void publish(Slot* slot) {
    pmem::atomic_store(&slot->used, uint64_t{1});
    pmem::persist(&slot->used, sizeof slot->used);
  }
  virtual Slot* find(powercut_bytes key) {
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used == 1 && same_key(slots[i], key)) return &slots[i];
    }
    return nullptr;
  }
  virtual Slot* find_free() {
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used != 1) return &slots[i];
    }
    return nullptr;
  }

  virtual powercut_status insert(powercut_bytes key, powercut_bytes value) {
    Slot* slot = find_free();
    if (slot == nullptr) return POWERCUT_FULL;
    write_item(slot, key, value);
    pmem::persist(slot, sizeof *slot);
    publish(slot);
    return POWERCUT_OK;
  }
  // With BUG 1 the item is published before it is written.
  void put(Slot* slot, powercut_bytes key, powercut_bytes value) {
    if (BUG) publish(slot);
    write_item(slot, key, value);
    pmem::persist(slot, sizeof *slot);
    if (!BUG) publish(slot);
  }
  virtual powercut_status update(powercut_bytes, powercut_bytes) { return POWERCUT_UNSUPPORTED; }
  virtual powercut_status erase(powercut_bytes key) {
    Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    pmem::atomic_store(&slot->used, uint64_t{0});
    pmem::persist(&slot->used, sizeof slot->used);
    return POWERCUT_OK;
  }
  virtual powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) {
    const Slot* slot = find(key);
    if (slot == nullptr) return POWERCUT_NOT_FOUND;
    *size = value_size;
    std::memcpy(value, slot->value, capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }
  virtual powercut_status copies(powercut_bytes key, powercut_item_fn item, void* context) {
    for (uint64_t i = 0; i < count; ++i) {
      if (slots[i].used != 1 || !same_key(slots[i], key)) continue;
      if (item(context, key, {slots[i].value, value_size}) != 0) break;
    }
    return POWERCUT_OK;
  }
};

// Threads may share it.
class SharedSlots : public Slots {
 public:
  using Slots::Slots;
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
  }
};

// The target made of a table class.
template <typename Table>
const powercut_target* target_of() {
  static const char* const variants[] = {"published", nullptr};
  static const char* const none[] = {nullptr};
  static const auto of = [](powercut_table* table) { return static_cast<Table*>(table); };
  static const powercut_target target = [] {
    powercut_target t{};
    t.abi = POWERCUT_TARGET_ABI;
    t.name = "pair";
    t.summary = BUG ? "a planted bug" : "its correct twin";
    t.paper = "none";
    t.variants = variants;
    t.options = none;
    t.commands = none;
    t.traits = [](const powercut_config* config, powercut_traits* out) {
      const powercut_status status = Table::check(*config);
      if (status != POWERCUT_OK) {
        if (config->error != nullptr) std::snprintf(config->error, config->error_size, "these sizes do not fit");
        return status;
      }
      *out = {};
      Table::declare(out);
      return POWERCUT_OK;
    };
    t.format = [](powercut_pool pool, const powercut_config* config) {
      Table(pool, *config).format();
      return POWERCUT_OK;
    };
    t.open = [](powercut_pool pool, const powercut_config* config, powercut_table** out) {
      auto* table = new (std::nothrow) Table(pool, *config);
      if (table == nullptr) return POWERCUT_FULL;
      *out = table;
      return table->recover();
    };
    t.insert = [](powercut_table* table, powercut_bytes key, powercut_bytes value) {
      return of(table)->insert(key, value);
    };
    t.update = [](powercut_table* table, powercut_bytes key, powercut_bytes value) {
      return of(table)->update(key, value);
    };
    t.erase = [](powercut_table* table, powercut_bytes key) { return of(table)->erase(key); };
    t.lookup = [](powercut_table* table, powercut_bytes key, void* value, size_t capacity, size_t* size) {
      return of(table)->lookup(key, value, capacity, size);
    };
    t.copies = [](powercut_table* table, powercut_bytes key, powercut_item_fn item, void* context) {
      return of(table)->copies(key, item, context);
    };
    t.close = [](powercut_table* table) { delete of(table); };
    return t;
  }();
  return &target;
}

}  // namespace powercut::regression

using namespace powercut;  // a pair is one source, and its header is included nowhere else

// The last line of a pair.
#define POWERCUT_PAIR(Table)                                                                  \
  extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {                     \
    return abi == POWERCUT_TARGET_ABI ? ::powercut::regression::target_of<Table>() : nullptr; \
  }

#endif  // POWERCUT_TARGETS_REGRESSION_PAIR_H_
