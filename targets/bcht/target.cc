// The bucketized cuckoo hash table that SmartCuckoo (ATC 2017) compares with: README.md.
#include "targets/common/cuckoo/target.h"

namespace powercut::cuckoo {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=2|4|8|...: initial number of buckets of each table, a power of two", Log2<&Options::log2>(2, 1 << 24)},
    {"slots=4|2|8: slots of a bucket", Number<&Options::slots>(0, kMostSlots)},
    kTwoTables,
    kLimit,
    kResizeByCopy,
    kUpdateInPlace,
    kAutoExpand,
    {"bug=none|insert_unordered|path_end_unordered|move_unordered|kick_out|move_clear_first|erase_first_copy|"
     "update_first_copy|resize_early|free_early|leak_table|header_not_flushed: a planted bug",
     Named<&Options::bug>()},
});

}  // namespace

const Scheme kScheme = {
    .name = "bcht", .options = &kOptions, .search = Search::kWalk, .made_for_dram = true, .kicks_out = true};

POWERCUT_SCHEME_TARGET(
    "bcht", kOptions.lines, "Bucketized cuckoo hash table: two tables, four slots a bucket, random evictions",
    "Erlingsson, Manasse, McSherry: A Cool and Practical Alternative to Traditional Hash Tables, WDAS 2006, as "
    "Sun et al., SmartCuckoo, ATC 2017, configure it",
    "expand", "shrink")

}  // namespace powercut::cuckoo
