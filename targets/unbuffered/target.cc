// The hash table without a buffer (2.1, 3.5): README.md.
#include "targets/common/counting/target.h"

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

}  // namespace

const Member kMember = {.name = "unbuffered", .scheme = Scheme::kUnbuffered, .options = &kOptions};

POWERCUT_SCHEME_TARGET("unbuffered", kOptions.lines,
                       "a counting table without a buffer: each increment writes its page", kPaper)

}  // namespace powercut::counting
