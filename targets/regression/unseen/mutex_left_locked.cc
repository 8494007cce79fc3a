// A mutex of pthread lies in the pool and is persisted while it is held; recovery takes it and never comes back.
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
  pthread_mutex_t* mutex() const { return reinterpret_cast<pthread_mutex_t*>(root->word); }
  powercut_status recover() override {
    static_assert(sizeof(pthread_mutex_t) <= sizeof root->word);
    if (root->magic != regression::kMagic) return POWERCUT_NOT_FORMATTED;
    if (!BUG) {
      pthread_mutex_init(mutex(), nullptr);
      pmem::persist(root, sizeof *root);
    }
    pthread_mutex_lock(mutex());
    pthread_mutex_unlock(mutex());
    return POWERCUT_OK;
  }
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    pthread_mutex_lock(mutex());
    pmem::persist(root, sizeof *root);
    const powercut_status status = Slots::insert(key, value);
    pthread_mutex_unlock(mutex());
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Map)
