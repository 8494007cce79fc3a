// Persistent bucketized cuckoo hashing, the baseline of Level hashing (OSDI 2018): README.md.
#include "targets/common/cuckoo/target.h"

namespace powercut::cuckoo {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=4|2|8|...: initial number of buckets of each table, a power of two", Log2<&Options::log2>(2, 1 << 26)},
    {"slots=4|8|16|2: slots of a bucket", Number<&Options::slots>(0, kMostSlots)},
    {"tables=1|2: one table with two hash functions, or two tables with one each", Number<&Options::tables>()},
    kLimit,
    {"resize=rehash|copy: items move one by one with both tables attached, or a whole table is built and then "
     "published",
     Flag<&Options::rehash, "rehash">()},
    {"update=opportunistic|logged|inplace: log-free beside a free slot; always logged; 8-byte values by one store",
     Named<&Options::update>()},
    kAutoExpand,
    {"bug=none|insert_unordered|path_end_unordered|move_unordered|move_clear_first|move_duplicate|kick_out|"
     "update_unordered|update_two_writes|update_first_copy|erase_first_copy|log_unordered|log_cleared_early|"
     "log_not_replayed|rehash_clear_first|rehash_not_finished|descriptor_late|leak_table|header_not_flushed|"
     "flush_first_line: a planted bug",
     Named<&Options::bug>()},
});

}  // namespace

const Scheme kScheme = {.name = "bch", .options = &kOptions, .search = Search::kWalk};

POWERCUT_SCHEME_TARGET(
    "bch", kOptions.lines,
    "Persistent bucketized cuckoo hashing: two buckets a key, evictions from the end of the path",
    "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018, "
    "sections 3.3 and 4.1",
    "expand", "shrink")

}  // namespace powercut::cuckoo
