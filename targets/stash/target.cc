// Cuckoo hashing with a stash, the baseline of SmartCuckoo (ATC 2017): README.md.
#include "targets/common/cuckoo/target.h"

namespace powercut::cuckoo {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=4|2|8|...: initial number of buckets of each table, a power of two", Log2<&Options::log2>(2, 1 << 24)},
    {"slots=1|2: slots of a bucket", Number<&Options::slots>(0, kMostSlots)},
    kTwoTables,
    {"stash=4|1|2|8|...: slots of the stash", Number<&Options::stash>(1, kMostSlots)},
    {"unstash=on|off: an erase that frees a slot of the tables lets an item of the stash have it",
     Switch<&Options::unstash>()},
    kLimit,
    kResizeByCopy,
    kUpdateInPlace,
    kAutoExpand,
    {"bug=none|insert_unordered|path_end_unordered|move_unordered|kick_out|move_clear_first|stash_unordered|"
     "stash_unflushed|unstash_clear_first|erase_first_copy|update_first_copy|log_not_replayed|resize_early|free_early|"
     "leak_table: a planted bug",
     Named<&Options::bug>()},
});

}  // namespace

const Scheme kScheme = {
    .name = "stash", .options = &kOptions, .search = Search::kWalk, .made_for_dram = true, .kicks_out = true};

POWERCUT_SCHEME_TARGET(
    "stash", kOptions.lines,
    "Cuckoo hashing with a stash: two tables of one-slot buckets, and a few slots for what finds no place",
    "Kirsch, Mitzenmacher, Wieder: More Robust Hashing: Cuckoo Hashing with a Stash, ESA 2008, as Sun et al., "
    "SmartCuckoo, ATC 2017, configure it",
    "expand", "shrink")

}  // namespace powercut::cuckoo
