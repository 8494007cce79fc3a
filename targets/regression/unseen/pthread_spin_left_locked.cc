// A spin lock of pthread lies in the pool and is persisted while it is held; recovery spins in the C library.
//
// class: accesses that nobody saw
// bug: recovery-hang
#include <pthread.h>

#include "targets/regression/pair.h"

namespace {

using namespace powercut;

class Map final : public regression::Slots {
 public:
  using Slots::Slots;
  pthread_spinlock_t* lock() const { return reinterpret_cast<pthread_spinlock_t*>(root->word); }
  void format() override {
    pthread_spin_init(lock(), PTHREAD_PROCESS_PRIVATE);
    Slots::format();
  }
  powercut_status recover() override {
    if (root->magic != regression::kMagic) return POWERCUT_NOT_FORMATTED;
    if (!BUG) pthread_spin_init(lock(), PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(lock());
    pthread_spin_unlock(lock());
    return POWERCUT_OK;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    pthread_spin_lock(lock());
    pmem::persist(root, sizeof *root);
    const powercut_status status = Slots::insert(key, value);
    pthread_spin_unlock(lock());
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
