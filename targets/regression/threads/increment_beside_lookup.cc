// A lookup of a counter takes no lock, and returns a sum whose increment is not durable yet.
//
// class: threads
// bug: unpersisted-read
// cut: needed
// operations: []
// options: {"threads": [[("increment", 1)], [("lookup", 1)]], "warmup": [("increment", 1, {"by": 4})]}
#include "targets/regression/counters.h"

POWERCUT_COUNTERS(regression::LooseLookups)
