// A lookup takes no lock, and returns an item that another thread has published and not yet flushed.
//
// class: threads
// bug: unpersisted-read
// cut: needed
// operations: []
// options: {"threads": [[("insert", 1)], [("lookup", 1), ("lookup", 1)]]}
#include "targets/regression/locked.h"

POWERCUT_PAIR(powercut::regression::LookupUnlocked)
