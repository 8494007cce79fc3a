// Traits and commands of the target ABI, for both kinds of slots.
#include <cstring>

#include "targets/level/table.h"

namespace powercut::level {

void Table::Traits(const Options& options, powercut_traits* out) {
  out->copy_bound = 2;
  out->copy_citation =
      "Level hashing (OSDI'18), 3.3(2)b: \"the hash table contains two duplicate key-value items, which however does "
      "not impact on the data consistency\"";
  out->notes = "one thread; insert does not look for the key (the paper inserts unique keys)";
  if (options.concurrent) {
    out->thread_safe = 1;
    out->checks_exists = options.hardened ? 1 : 0;
    out->notes = options.hardened ? "slot locks, and a lock of the key that makes insert unique"
                                  : "slot locks; insert does not look for the key (the paper inserts unique keys)";
  }
  // A fresh file is zeroes already. Without that, format would write every bucket's header a second time, and every
  // entry of the allocator.
  out->needs_zeroed_pool = 1;
}

powercut_status Table::Maintain(const char* command) {
  if (std::strcmp(command, "expand") == 0) return Expand();
  if (std::strcmp(command, "shrink") == 0) return Shrink();
  return POWERCUT_UNSUPPORTED;
}

}  // namespace powercut::level
