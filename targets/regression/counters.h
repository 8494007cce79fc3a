// The table of counters that pairs of threads are made of: the array of slots of pair.h, whose values are sums, with
// one lock for all of them. A pair replaces the operation that its bug is about.
#ifndef POWERCUT_TARGETS_REGRESSION_COUNTERS_H_
#define POWERCUT_TARGETS_REGRESSION_COUNTERS_H_

#include <mutex>

#include "targets/regression/pair.h"

namespace powercut::regression {

class Counters : public Slots {
 public:
  using Slots::Slots;

  static powercut_status check(const powercut_config& config) {
    return config.value_size == sizeof(int64_t) ? Slots::check(config) : POWERCUT_BAD_CONFIG;
  }
  static void declare(powercut_traits* traits) {
    Slots::declare(traits);
    traits->thread_safe = 1;
    traits->counts = 1;
  }

  virtual std::unique_lock<std::mutex> locked() { return std::unique_lock(mutex_); }
  virtual std::unique_lock<std::mutex> locked_to_read() { return std::unique_lock(mutex_); }

  powercut_status increment(powercut_bytes key, int64_t delta) {
    const auto lock = locked();
    Slot* slot = find(key);
    if (slot == nullptr) {
      slot = find_free();
      if (slot == nullptr) return POWERCUT_FULL;
      const int64_t none = 0;
      write_item(slot, key, {&none, sizeof none});
      pmem::persist(slot, sizeof *slot);
      publish(slot);
    }
    auto* sum = reinterpret_cast<int64_t*>(slot->value);
    pmem::atomic_store(sum, *sum + delta);
    pmem::persist(sum, sizeof *sum);
    return POWERCUT_OK;
  }
  powercut_status erase(powercut_bytes key) override {
    const auto lock = locked();
    const Slot* slot = find(key);
    const bool absent = slot == nullptr || *reinterpret_cast<const int64_t*>(slot->value) == 0;
    return absent ? POWERCUT_NOT_FOUND : Slots::erase(key);
  }
  powercut_status lookup(powercut_bytes key, void* value, size_t capacity, size_t* size) override {
    const auto lock = locked_to_read();
    int64_t sum = 0;
    const powercut_status status = Slots::lookup(key, &sum, sizeof sum, size);
    if (status != POWERCUT_OK || sum == 0) return POWERCUT_NOT_FOUND;
    std::memcpy(value, &sum, capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  }

 private:
  std::mutex mutex_;
};

// With BUG 1 a lookup takes no lock.
class LooseLookups : public Counters {
 public:
  using Counters::Counters;
  std::unique_lock<std::mutex> locked_to_read() override {
    return BUG ? std::unique_lock<std::mutex>() : Counters::locked_to_read();
  }
};

}  // namespace powercut::regression

// The last line of a pair.
#define POWERCUT_COUNTERS(Table)                                                   \
  extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {          \
    static const powercut_target target = [] {                                     \
      powercut_target t = *::powercut::regression::target_of<Table>();             \
      t.insert = nullptr;                                                          \
      t.update = nullptr;                                                          \
      t.increment = [](powercut_table* table, powercut_bytes key, int64_t delta) { \
        return static_cast<Table*>(table)->increment(key, delta);                  \
      };                                                                           \
      return t;                                                                    \
    }();                                                                           \
    return abi == POWERCUT_TARGET_ABI ? &target : nullptr;                         \
  }

#endif  // POWERCUT_TARGETS_REGRESSION_COUNTERS_H_
