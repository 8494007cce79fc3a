// libcuckoo's table, one thread, in persistent memory: README.md.
#include "targets/common/cuckoo/target.h"

namespace powercut::cuckoo {
namespace {

constexpr const char* kSlots[] = {"4", "2", nullptr};
constexpr const char* kBugs[] = {"none",
                                 "insert_unordered",
                                 "path_end_unordered",
                                 "move_unordered",
                                 "kick_out",
                                 "move_clear_first",
                                 "move_duplicate",
                                 "tag_late",
                                 "erase_first_copy",
                                 "update_first_copy",
                                 "resize_early",
                                 "free_early",
                                 "leak_table",
                                 nullptr};
constexpr const char* kOptionLines[] = {
    "buckets=4|2|8|...: initial number of buckets, a power of two",
    "slots=4|2: slots of a bucket",
    "limit=500|16|4|...: buckets that the search for a path looks at before it gives up",
    "resize=copy|rehash: a whole table is built and then published, or items move one by one with both tables attached",
    "update=inplace|opportunistic|logged: 8-byte values by one store; log-free beside a free slot; always logged",
    "auto_expand=on|off: an insert that finds no place doubles the table and tries again (off: FULL)",
    "bug=none|insert_unordered|path_end_unordered|move_unordered|kick_out|move_clear_first|move_duplicate|tag_late|"
    "erase_first_copy|update_first_copy|resize_early|free_early|leak_table: a planted bug",
    nullptr};

}  // namespace

const Scheme kScheme = {.name = "libcuckoo",
                        .bugs = kBugs,
                        .slots = kSlots,
                        .tables = nullptr,
                        .search = Search::kBreadthFirst,
                        .buckets = 4,
                        .rehash = false,
                        .update = UpdateBy::kInPlace,
                        .made_for_dram = true,
                        .kicks_out = false,
                        .tags = true,
                        .stash = false};

namespace {

constexpr powercut_target kTarget = Target(
    "libcuckoo", "libcuckoo's table: partial keys beside the tokens, paths found breadth first",
    "Li, Andersen, Kaminsky, Freedman: Algorithmic Improvements for Fast Concurrent Cuckoo Hashing, EuroSys 2014, "
    "as Sun et al., SmartCuckoo, ATC 2017, compare with it",
    kOptionLines);

}  // namespace
}  // namespace powercut::cuckoo

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::cuckoo::kTarget : nullptr;
}
