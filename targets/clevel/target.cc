// Clevel hashing behind the target ABI.
#include "targets/clevel/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::clevel {

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->copy_bound = 2;
  out->copy_citation =
      "Clevel hashing (ATC'20), 3.3: \"A crash during the data movement of rehashing may lead to duplicate items, "
      "which "
      "are fixed in future update (3.2.3) and deletion (3.2.4)\"";
  out->notes = "one thread; steps of other threads happen between operations or, with the option interleave, inside";
  // A fresh file is zeroes already. Without that, format would write every slot, buffer and entry a second time.
  out->needs_zeroed_pool = 1;
}

}  // namespace powercut::clevel

namespace {

constexpr const char* kCommands[] = {"expand", "rehash", nullptr};

constexpr powercut_target kTarget = powercut::SchemeTarget<powercut::clevel::Table>::Entry({
    .name = "clevel",
    .summary = "Clevel hashing: a list of levels that share items by pointer; lock-free, rehashed in the background",
    .paper = "Chen, Hua, Ding, Zuo: Lock-free Concurrent Level Hashing for Persistent Memory, USENIX ATC 2020",
    .options = powercut::clevel::kOptionLines,
    .commands = kCommands,
});

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
