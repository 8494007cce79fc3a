// An operation hands its work to a thread that it starts.
//
// class: threads
// bug: unknown: a thread that an operation starts is not scheduled
// twin: unknown: the same
// operations: []
// options: {"threads": [[("insert", 1)], [("lookup", 1)]]}
#include <thread>

#include "targets/regression/locked.h"

using namespace powercut::regression;

namespace {

struct Table : Locked {
  using Locked::Locked;
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    powercut_status status = POWERCUT_OK;
    std::thread([&] {
      std::unique_lock lock(mutex, std::defer_lock);
      if (!BUG) lock.lock();
      status = Slots::insert(key, value);
    }).join();
    return status;
  }
};

}  // namespace

POWERCUT_PAIR(Table)
