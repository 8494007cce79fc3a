// TurboHash behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {

void Table::Traits(const Options&, powercut_traits* out) {
  out->notes = "one thread; an insert of a present key is an update (3.4)";
  // Format would otherwise write every bucket, the directory's second sets and the bits of the cells.
  out->needs_zeroed_pool = 1;
}

namespace {

constexpr const char* kCommands[] = {"expand", "gc", nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "turbohash",
    .summary = "TurboHash: shards of 256-byte buckets, bounded linear probing, near-place updates",
    .paper = "Zhao, Zhong, Jiang: TurboHash: A Hash Table for Key-value Store on Persistent Memory, SYSTOR 2023",
    .options = kOptionLines,
    .commands = kCommands,
});

}  // namespace
}  // namespace powercut::turbohash

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::turbohash::kTarget : nullptr;
}
