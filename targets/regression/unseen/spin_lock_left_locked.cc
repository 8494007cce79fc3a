// A spin lock of the target's own lies in the pool and is persisted while it is held; recovery takes it and never comes
// back.
//
// class: accesses that nobody saw
// bug: recovery-hang
#include <atomic>

#include "targets/regression/pair.h"

namespace {

using namespace powercut;

class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  std::atomic_ref<uint64_t> lock_word() const { return std::atomic_ref<uint64_t>(root->word[0]); }
  void lock() {
    while (lock_word().exchange(1) != 0) {
    }
  }
  void unlock() { lock_word().store(0, std::memory_order_release); }
  powercut_status recover() override {
    if (root->magic != regression::kMagic) return POWERCUT_NOT_FORMATTED;
    if (!BUG) unlock();
    lock();
    unlock();
    return POWERCUT_OK;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    lock();
    pmem::persist(root, sizeof *root);
    const powercut_status status = Slots::insert(key, value);
    unlock();
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
