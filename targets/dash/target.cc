// Dash-EH behind the target ABI.
#include "targets/dash/shared_target.h"
#include "targets/dash/table.h"

namespace powercut::dash {
namespace {

using Shared = SharedOptions<Options>;

constexpr OptionTable<Options> kOptions({
    Shared::kBuckets,
    {"stash=2|0|1|4|...: stash buckets of a segment, at most 4", Number<&Options::stash>(0, 4)},
    Shared::kSlots,
    Shared::kItems,
    {"depth=0|1|3|...: global depth at the start", Number<&Options::depth>(0, 16)},
    Shared::kBalance,
    Shared::kDisplacement,
    Shared::kFingerprints,
    {"overflow=on|off: ask the overflow metadata which stash bucket to search, or search all",
     Switch<&Options::overflow>()},
    Shared::kRecovery,
    Shared::kVersions,
    Shared::kConcurrency,
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "dash", kOptions, out);
  return status == POWERCUT_OK ? CheckSizes(config, "dash", out->pointers ? kSizes : kWords) : status;
}

void Table::Traits(const Options& options, powercut_traits* out) {
  SharedTraits(
      options,
      "Dash's authors' code (baotonglu/dash, src/ex_finger.h): recoverTable at the first access to a segment after a "
      "crash; recoverMetadata removes duplicates of neighbouring buckets, HelpSplit those of an interrupted split",
      "one thread; a lookup does not recover the segment that it reads", out);
}

POWERCUT_SCHEME_TARGET("dash", kOptions.lines,
                       "Dash-EH: extendible hashing with stash buckets, fingerprints and lazy recovery of each segment",
                       "Lu, Hao, Wang, Lo: Dash: Scalable Hashing on Persistent Memory, VLDB 2020")

}  // namespace powercut::dash
