// A scheme of the family behind the target ABI.
#ifndef POWERCUT_TARGETS_COMMON_CUCKOO_TARGET_H_
#define POWERCUT_TARGETS_COMMON_CUCKOO_TARGET_H_

#include "targets/common/cuckoo/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cuckoo {

// Options of several schemes.
inline constexpr Option<Options> kTwoTables = {
    "tables=2|1: two tables with one hash function each, or one table with both", Number<&Options::tables>()};
inline constexpr Option<Options> kLimit = {"limit=500|16|4|...: evictions that an insert tries before it gives up",
                                           Number<&Options::limit>(1, kMostSteps)};
inline constexpr Option<Options> kResizeByCopy = {
    "resize=copy|rehash: a whole table is built and then published, or items move one by one with both tables attached",
    Flag<&Options::rehash, "rehash">()};
inline constexpr Option<Options> kUpdateInPlace = {
    "update=inplace|opportunistic|logged: 8-byte values by one store; log-free beside a free slot; always logged",
    Named<&Options::update>()};
inline constexpr Option<Options> kAutoExpand = {
    "auto_expand=on|off: an insert that finds no place doubles the table and tries again (off: FULL)",
    Switch<&Options::auto_expand>()};

}  // namespace powercut::cuckoo
#endif  // POWERCUT_TARGETS_COMMON_CUCKOO_TARGET_H_
