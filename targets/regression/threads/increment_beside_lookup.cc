// A lookup of a counter takes no lock, and returns a sum whose increment is not durable yet.
//
// class: threads
// bug: unpersisted-read
// cut: needed
// operations: []
// options: {"threads": [[("increment", 1)], [("lookup", 1)]], "warmup": [("increment", 1, {"by": 4})]}
#include "targets/regression/counters.h"

using namespace powercut::regression;

namespace {

struct Table : Counters {
  using Counters::Counters;
  std::unique_lock<std::mutex> locked_to_read() override {
    return BUG ? std::unique_lock<std::mutex>() : Counters::locked_to_read();
  }
};

}  // namespace

POWERCUT_COUNTERS(Table)
