// Memory Bounded Buffering (2.3): README.md.
#include "targets/common/counting/target.h"

namespace powercut::counting {
namespace {

constexpr OptionTable<Options> kOptions({
    kPage,
    kSectors,
    kEntries,
    kPages,
    kBlocks,
    kBuffer,
    kOverflow,
    kFtl,
    {"bug=none|spare_reused|sync_lazy|negative_dropped|overflow_reused|pieces_accepted|chain_unchecked|"
     "checksum_ignored|torn_kept|generation_reused: a planted bug",
     Named<&Options::bug>()},
});

}  // namespace

const Member kMember = {.name = "mb", .scheme = Scheme::kBounded, .options = &kOptions};

POWERCUT_SCHEME_TARGET("mb", kOptions.lines,
                       "MB: increments in a RAM buffer, merged block by block with the data segment", kPaper, "merge",
                       "sync")

}  // namespace powercut::counting
