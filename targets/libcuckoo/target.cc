// libcuckoo's table in persistent memory: README.md.
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
    {"concurrency=single|concurrent: one thread at a time, or striped locks of buckets and paths that are searched "
     "without locks",
     Flag<&Options::concurrent, "concurrent">()},
    {"bug=none|insert_unordered|path_end_unordered|move_unordered|kick_out|move_clear_first|move_duplicate|tag_late|"
     "erase_first_copy|update_first_copy|resize_early|free_early|leak_table|lookup_unlocked|lookup_bucketwise|"
     "unlock_before_flush|exists_unlocked|insert_check_apart|path_stale|path_key_stale|path_end_unlocked|"
     "resize_unnoticed|move_locks_one|lock_not_atomic|lock_in_pool|undo_log_shared|copy_beside|"
     "publish_unlocked: a planted bug",
     Named<&Options::bug>()},
});

}  // namespace

const Scheme kScheme = {
    .name = "libcuckoo", .options = &kOptions, .search = Search::kBreadthFirst, .made_for_dram = true, .tags = true};

POWERCUT_SCHEME_TARGET(
    "libcuckoo", kOptions.lines, "libcuckoo's table: partial keys beside the tokens, paths found breadth first",
    "Li, Andersen, Kaminsky, Freedman: Algorithmic Improvements for Fast Concurrent Cuckoo Hashing, EuroSys 2014, "
    "as Sun et al., SmartCuckoo, ATC 2017, compare with it",
    "expand", "shrink")

}  // namespace powercut::cuckoo
