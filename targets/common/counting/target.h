// A counting table behind the target ABI: what the target.cc of each scheme shares.
#ifndef POWERCUT_TARGETS_COMMON_COUNTING_TARGET_H_
#define POWERCUT_TARGETS_COMMON_COUNTING_TARGET_H_

#include "targets/common/counting/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::counting {

// Options of several schemes.
inline constexpr Option<Options> kPage = {"page=512|1024|4096|...: bytes of a page",
                                          Number<&Options::page>(512, 1 << 16)};
inline constexpr Option<Options> kSectors = {"sectors=1|2|4|8: sectors of a page, of 512 bytes or more",
                                             Number<&Options::sectors>()};
inline constexpr Option<Options> kEntries = {"entries=4|2|8|27|...: entries of a page",
                                             Number<&Options::entries>(2, 1 << 12)};
inline constexpr Option<Options> kPages = {"pages=4|1|2|...: pages of a block", Number<&Options::pages>(1, 1 << 10)};
inline constexpr Option<Options> kBlocks = {"blocks=4|1|2|16|...: blocks of the data segment",
                                            Number<&Options::blocks>(1, 1 << 16)};
inline constexpr Option<Options> kChange = {
    "change=50|25|12|100|...: size of the change segment, in percent of the data "
    "segment",
    Number<&Options::change>(1, 100)};
inline constexpr Option<Options> kBuffer = {"buffer=4|1|16|64|...: entries of the RAM buffer",
                                            Number<&Options::buffer>(1, 1 << 24)};
inline constexpr Option<Options> kOverflow = {"overflow=1|0|2|...: blocks of the overflow region",
                                              Number<&Options::overflow>(0, 1 << 16)};

inline constexpr Option<Options> kFtl = {"ftl=none|page|block: no more than a block device, or an SSD on raw flash",
                                         Named<&Options::ftl>()};

// Options of the schemes that stage a RAM buffer in a change segment.
inline constexpr OptionTable<Options> kStagedOptions({
    kPage,
    kSectors,
    kEntries,
    kPages,
    kBlocks,
    kChange,
    kBuffer,
    kOverflow,
    kFtl,
    {"bug=none|stage_unflushed|sync_lazy|spare_reused|log_reused|merged_not_raised|merged_first|"
     "tombstone_dropped|negative_dropped|overflow_reused|pieces_accepted|chain_unchecked|checksum_ignored|"
     "torn_kept|merged_of_newest|sequence_restarts|generation_reused|last_page_missed|cursor_by_count: a planted bug",
     Named<&Options::bug>()},
});

inline constexpr const char* kPaper = "Hash in a Flash: Hash Tables for Solid State Devices";

}  // namespace powercut::counting
#endif  // POWERCUT_TARGETS_COMMON_COUNTING_TARGET_H_
