// A counter is erased while another thread looks it up without a lock: the lookup returns that it is gone, and a power
// cut brings it back.
//
// class: threads
// bug: unpersisted-read
// cut: needed
// operations: [("increment", 1, {"by": -2}), ("lookup", 1)]
// options: {"threads": [[("erase", 1)], [("lookup", 1)]], "warmup": [("increment", 1, {"by": 4})]}
#include "targets/regression/counters.h"

POWERCUT_COUNTERS(regression::LooseLookups)
