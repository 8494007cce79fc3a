// Memory and Disk Bounded Buffering (2.4): README.md.
#include "targets/common/counting/target.h"

namespace powercut::counting {

const Member kMember = {.name = "mdb", .scheme = Scheme::kSegmented, .options = &kStagedOptions};

POWERCUT_SCHEME_TARGET("mdb", kStagedOptions.lines,
                       "MDB: a RAM buffer, staged in change blocks that each serve some data blocks", kPaper, "stage",
                       "merge", "sync")

}  // namespace powercut::counting
