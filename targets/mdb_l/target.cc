// Memory and Disk Bounded Buffering, linear (2.4): README.md.
#include "targets/common/counting/target.h"

#include "targets/common/target_entry.h"

namespace powercut::counting {
namespace {

constexpr const char* kCommands[] = {"stage", "merge", "sync", nullptr};

constexpr powercut_target kTarget =
    Target("mdb_l", "MDB-L: a RAM buffer, staged in one log, with page ranges for each data block",
           kStagedOptions.lines, kCommands);

}  // namespace

const Member kMember = {.name = "mdb_l", .scheme = Scheme::kLinear, .options = &kStagedOptions};

}  // namespace powercut::counting

POWERCUT_TARGET_ENTRY(powercut::counting::kTarget)
