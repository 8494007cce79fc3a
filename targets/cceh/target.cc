// CCEH behind the target ABI.
#include "targets/cceh/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cceh {

void Table::Traits(const Options&, powercut_traits* out) {
  out->notes = "one thread; insert does not look for the key";
  // A fresh file is zeroes already. Without that, format would write the entries of the allocator and the reserved
  // items a second time.
  out->needs_zeroed_pool = 1;
}

}  // namespace powercut::cceh

namespace {

constexpr const char* kCommands[] = {nullptr};

constexpr powercut_target kTarget = powercut::SchemeTarget<powercut::cceh::Table>::Entry({
    .name = "cceh",
    .summary = "CCEH: extendible hashing with segments of cache-line buckets, lazy deletion after a split",
    .paper = "Nam, Cha, Choi, Noh, Nam: Write-Optimized Dynamic Hashing for Persistent Memory, FAST 2019",
    .options = powercut::cceh::kOptionLines,
    .commands = kCommands,
});

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
