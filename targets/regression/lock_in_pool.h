// A map whose lock lies in the pool, and is persisted while it is held. Recovery takes the lock: with BUG 1 in the
// state that the power cut has left, with BUG 0 after a reset of the lock.
#ifndef POWERCUT_TARGETS_REGRESSION_LOCK_IN_POOL_H_
#define POWERCUT_TARGETS_REGRESSION_LOCK_IN_POOL_H_

#include "targets/regression/pair.h"

namespace powercut::regression {

class LockInPool : public Slots {
 public:
  using Slots::Slots;
  virtual void reset() = 0;
  virtual void lock() = 0;
  virtual void unlock() = 0;

  powercut_status recover() override {
    if (root->magic != kMagic) return POWERCUT_NOT_FORMATTED;
    if (!BUG) reset();
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

}  // namespace powercut::regression

#endif  // POWERCUT_TARGETS_REGRESSION_LOCK_IN_POOL_H_
