// P-CLHT behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->notes = "one thread; no helper during a resize";
  // zalloc in the authors' code; here a fresh file is zeroes already, and so are the entries of the allocator.
  out->needs_zeroed_pool = 1;
}

namespace {

constexpr const char* kCommands[] = {"expand", "shrink", "status", nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "pclht",
    .summary = "P-CLHT: chained buckets of one line, the whole table copied to resize it",
    .paper = "Lee, Mohan, Kashyap, Kim, Chidambaram: RECIPE: Converting Concurrent DRAM Indexes to Persistent-Memory "
             "Indexes, SOSP 2019",
    .options = kOptionLines,
    .commands = kCommands,
});

}  // namespace
}  // namespace powercut::pclht

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::pclht::kTarget : nullptr;
}
