// Two threads increment one counter by a load, an addition and a store, and no lock keeps them apart.
//
// class: threads
// bug: lost-increment
// cut: none needed
// operations: []
// options: {"threads": [[("increment", 1)], [("increment", 1, {"by": 2})]], "warmup": [("increment", 1, {"by": 4})]}
#include "targets/regression/counters.h"

using namespace powercut::regression;

namespace {

struct Table : Counters {
  using Counters::Counters;
  std::unique_lock<std::mutex> locked() override { return BUG ? std::unique_lock<std::mutex>() : Counters::locked(); }
};

}  // namespace

POWERCUT_COUNTERS(Table)
