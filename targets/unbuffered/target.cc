// The hash table without a buffer (2.1, 3.5): README.md.
#include "targets/common/counting/target.h"

#include "targets/common/target_entry.h"

namespace powercut::counting {
namespace {

constexpr OptionTable<Options> kOptions({
    kPage,
    kSectors,
    kEntries,
    kPages,
    kBlocks,
    kOverflow,
    kFtl,
    {"bug=none|write_unforced|pointer_first|journal_skipped|journal_unforced|torn_kept|erase_empties: a planted bug",
     Named<&Options::bug>()},
});

constexpr const char* kCommands[] = {nullptr};

constexpr powercut_target kTarget = Target(
    "unbuffered", "a counting table without a buffer: each increment writes its page", kOptions.lines, kCommands);

}  // namespace

const Member kMember = {.name = "unbuffered", .scheme = Scheme::kUnbuffered, .options = &kOptions};

}  // namespace powercut::counting

POWERCUT_TARGET_ENTRY(powercut::counting::kTarget)
