// A map that has neither update nor erase, which threads use at the same time: clients have neither, and what it has is
// judged. A lookup takes no lock, and returns an item that is not flushed yet.
//
// class: a target that is less than a map
// bug: unpersisted-read
// cut: needed
// operations: []
// options: {"threads": [[("insert", 1)], [("lookup", 1), ("lookup", 1)]]}
#include "targets/regression/locked.h"

using namespace powercut::regression;

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  static const powercut_target target = [] {
    powercut_target t = *target_of<LookupUnlocked>();
    t.update = nullptr;
    t.erase = nullptr;
    return t;
  }();
  return abi == POWERCUT_TARGET_ABI ? &target : nullptr;
}
