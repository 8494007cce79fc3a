// libcuckoo's table, one thread, in persistent memory: README.md.
#include "targets/common/cuckoo/target.h"

namespace powercut::cuckoo {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=4|2|8|...: initial number of buckets, a power of two", Log2<&Options::log2>(2, 1 << 24)},
    {"slots=4|2: slots of a bucket", Number<&Options::slots>(0, kMostSlots)},
    {"limit=500|16|4|...: buckets that the search for a path looks at before it gives up",
     Number<&Options::limit>(1, kMostSteps)},
    kResizeByCopy,
    kUpdateInPlace,
    kAutoExpand,
    {"bug=none|insert_unordered|path_end_unordered|move_unordered|kick_out|move_clear_first|move_duplicate|tag_late|"
     "erase_first_copy|update_first_copy|resize_early|free_early|leak_table: a planted bug",
     Named<&Options::bug>()},
});

constexpr powercut_target kTarget = Target(
    "libcuckoo", "libcuckoo's table: partial keys beside the tokens, paths found breadth first",
    "Li, Andersen, Kaminsky, Freedman: Algorithmic Improvements for Fast Concurrent Cuckoo Hashing, EuroSys 2014, "
    "as Sun et al., SmartCuckoo, ATC 2017, compare with it",
    kOptions.lines);

}  // namespace

const Scheme kScheme = {.name = "libcuckoo",
                        .options = &kOptions,
                        .search = Search::kBreadthFirst,
                        .made_for_dram = true,
                        .kicks_out = false,
                        .tags = true};

}  // namespace powercut::cuckoo

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::cuckoo::kTarget : nullptr;
}
