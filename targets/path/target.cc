// Path hashing behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/path/table.h"

namespace powercut::path {

void Table::Traits(const Options&, powercut_traits* out) {
  out->notes = "one thread; insert does not look for the key (the paper inserts unique keys)";
  // Format writes no cell, and of the allocator neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

namespace {

constexpr const char* kCommands[] = {"expand", "shrink", nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "path",
    .summary = "Path hashing: an inverted tree of cells with shared positions, two paths a key",
    .paper = "Zuo and Hua, MSST 2017; consistency as in Zuo, Hua and Wu, OSDI 2018, 3.3",
    .options = kOptionLines,
    .commands = kCommands,
});

}  // namespace
}  // namespace powercut::path

const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::path::kTarget : nullptr;
}
