// Memory and Disk Bounded Buffering, linear (2.4): README.md.
#include "targets/common/counting/target.h"

namespace powercut::counting {
namespace {

constexpr OptionTable<Options> kOptions({
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

constexpr const char* kCommands[] = {"stage", "merge", "sync", nullptr};

constexpr powercut_target kTarget = Target(
    "mdb_l", "MDB-L: a RAM buffer, staged in one log, with page ranges for each data block", kOptions.lines, kCommands);

}  // namespace

const Member kMember = {.name = "mdb_l", .scheme = Scheme::kLinear, .options = &kOptions};

}  // namespace powercut::counting

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &powercut::counting::kTarget : nullptr;
}
