// Memory and Disk Bounded Buffering (2.4): README.md.
#include "targets/common/counting/target.h"

#include "targets/common/target_entry.h"

namespace powercut::counting {
namespace {

constexpr const char* kCommands[] = {"stage", "merge", "sync", nullptr};

constexpr powercut_target kTarget =
    Target("mdb", "MDB: a RAM buffer, staged in change blocks that each serve some data blocks", kStagedOptions.lines,
           kCommands);

}  // namespace

const Member kMember = {.name = "mdb", .scheme = Scheme::kSegmented, .options = &kStagedOptions};

}  // namespace powercut::counting

POWERCUT_TARGET_ENTRY(powercut::counting::kTarget)
