// Persistent bucketized cuckoo hashing, the baseline of Level hashing (OSDI 2018): README.md.
#include "targets/common/cuckoo/target.h"

namespace powercut::cuckoo {
namespace {

constexpr const char* kSlots[] = {"4", "8", "16", "2", nullptr};
constexpr const char* kTables[] = {"1", "2", nullptr};
constexpr const char* kBugs[] = {"none",
                                 "insert_unordered",
                                 "path_end_unordered",
                                 "move_unordered",
                                 "move_clear_first",
                                 "move_duplicate",
                                 "kick_out",
                                 "update_unordered",
                                 "update_two_writes",
                                 "update_first_copy",
                                 "erase_first_copy",
                                 "log_unordered",
                                 "log_cleared_early",
                                 "log_not_replayed",
                                 "rehash_clear_first",
                                 "rehash_not_finished",
                                 "descriptor_late",
                                 "leak_table",
                                 "header_not_flushed",
                                 "flush_first_line",
                                 nullptr};
constexpr const char* kOptionLines[] = {
    "buckets=4|2|8|...: initial number of buckets of each table, a power of two",
    "slots=4|8|16|2: slots of a bucket",
    "tables=1|2: one table with two hash functions, or two tables with one each",
    "limit=500|16|4|...: evictions that an insert tries before it gives up",
    "resize=rehash|copy: items move one by one with both tables attached, or a whole table is built and then published",
    "update=opportunistic|logged|inplace: log-free beside a free slot; always logged; 8-byte values by one store",
    "auto_expand=on|off: an insert that finds no place doubles the table and tries again (off: FULL)",
    "bug=none|insert_unordered|path_end_unordered|move_unordered|move_clear_first|move_duplicate|kick_out|"
    "update_unordered|update_two_writes|update_first_copy|erase_first_copy|log_unordered|log_cleared_early|"
    "log_not_replayed|rehash_clear_first|rehash_not_finished|descriptor_late|leak_table|header_not_flushed|"
    "flush_first_line: a planted bug",
    nullptr};

}  // namespace

const Scheme kScheme = {.name = "bch",
                        .bugs = kBugs,
                        .slots = kSlots,
                        .tables = kTables,
                        .search = Search::kWalk,
                        .buckets = 4,
                        .rehash = true,
                        .update = UpdateBy::kOpportunistic,
                        .made_for_dram = false,
                        .kicks_out = false,
                        .tags = false,
                        .stash = false};

namespace {

constexpr powercut_target kTarget =
    Target("bch", "Persistent bucketized cuckoo hashing: two buckets a key, evictions from the end of the path",
           "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018, "
           "sections 3.3 and 4.1",
           kOptionLines);

}  // namespace
}  // namespace powercut::cuckoo

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::cuckoo::kTarget : nullptr;
}
