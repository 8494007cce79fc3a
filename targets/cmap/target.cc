// cmap behind the target ABI.
#include "targets/cmap/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cmap {

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->notes = "one thread; lookup does not rehash";
  // A fresh file is zeroes already. Without that, format would write the table of segments and the log.
  out->needs_zeroed_pool = 1;
}

namespace {

constexpr const char* kCommands[] = {"grow", "rehash", nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "cmap",
    .summary = "cmap: chained nodes, buckets doubled by segments, each rehashed when it is first changed",
    .paper =
        "concurrent_hash_map of libpmemobj-cpp, engine cmap of pmemkv; a baseline of Chen et al.: clevel, ATC 2020",
    .options = kOptionLines,
    .commands = kCommands,
});

}  // namespace
}  // namespace powercut::cmap

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::cmap::kTarget : nullptr;
}
