// Threads prepare their items in one buffer, where each needs one of its own.
//
// class: threads
// bug: not-linearizable, torn-value, lost-item, phantom-item
// operations: []
// options: {"threads": [[("insert", 1), ("lookup", 1)], [("insert", 2)]]}
#include "targets/regression/locked.h"

using namespace powercut::regression;

namespace {

#if BUG
Slot buffer;
#else
thread_local Slot buffer;
#endif

struct Table : Locked {
  using Locked::Locked;
  powercut_status insert(powercut_bytes key, powercut_bytes value) override {
    write_item(&buffer, key, value);
    return Locked::insert({buffer.key, key.size}, {buffer.value, value.size});
  }
};

}  // namespace

POWERCUT_PAIR(Table)
