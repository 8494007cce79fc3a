// The bucketized cuckoo hash table that SmartCuckoo (ATC 2017) compares with: README.md.
#include "targets/common/cuckoo/target.h"

namespace powercut::cuckoo {
namespace {

constexpr const char* kSlots[] = {"4", "2", "8", nullptr};
constexpr const char* kTables[] = {"2", "1", nullptr};
constexpr const char* kBugs[] = {"none",         "insert_unordered", "path_end_unordered", "move_unordered",
                                 "kick_out",     "move_clear_first", "erase_first_copy",   "update_first_copy",
                                 "resize_early", "free_early",       "leak_table",         "header_not_flushed",
                                 nullptr};
constexpr const char* kOptionLines[] = {
    "buckets=2|4|8|...: initial number of buckets of each table, a power of two",
    "slots=4|2|8: slots of a bucket",
    "tables=2|1: two tables with one hash function each, or one table with both",
    "limit=500|16|4|...: evictions that an insert tries before it gives up",
    "resize=copy|rehash: a whole table is built and then published, or items move one by one with both tables attached",
    "update=inplace|opportunistic|logged: 8-byte values by one store; log-free beside a free slot; always logged",
    "auto_expand=on|off: an insert that finds no place doubles the table and tries again (off: FULL)",
    "bug=none|insert_unordered|path_end_unordered|move_unordered|kick_out|move_clear_first|erase_first_copy|"
    "update_first_copy|resize_early|free_early|leak_table|header_not_flushed: a planted bug",
    nullptr};

}  // namespace

const Scheme kScheme = {.name = "bcht",
                        .bugs = kBugs,
                        .slots = kSlots,
                        .tables = kTables,
                        .search = Search::kWalk,
                        .buckets = 2,
                        .rehash = false,
                        .update = UpdateBy::kInPlace,
                        .made_for_dram = true,
                        .kicks_out = true,
                        .tags = false,
                        .stash = false};

namespace {

constexpr powercut_target kTarget =
    Target("bcht", "Bucketized cuckoo hash table: two tables, four slots a bucket, random evictions",
           "Erlingsson, Manasse, McSherry: A Cool and Practical Alternative to Traditional Hash Tables, WDAS 2006, as "
           "Sun et al., SmartCuckoo, ATC 2017, configure it",
           kOptionLines);

}  // namespace
}  // namespace powercut::cuckoo

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::cuckoo::kTarget : nullptr;
}
