// Memory and Disk Bounded Buffering, linear (2.4): README.md.
#include "targets/common/counting/target.h"

namespace powercut::counting {

const Member kMember = {.name = "mdb_l", .scheme = Scheme::kLinear, .options = &kStagedOptions};

POWERCUT_SCHEME_TARGET("mdb_l", kStagedOptions.lines,
                       "MDB-L: a RAM buffer, staged in one log, with page ranges for each data block", kPaper, "stage",
                       "merge", "sync")

}  // namespace powercut::counting
