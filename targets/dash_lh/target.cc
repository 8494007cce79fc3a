// Dash-LH behind the target ABI.
#include "targets/dash/shared_target.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {
namespace {

using Shared = dash::SharedOptions<Options>;

constexpr OptionTable<Options> kOptions({
    Shared::kBuckets,
    {"stash=2|0|1|3: stash buckets of a segment; when they are full it gets a chain", Number<&Options::stash>(0, 3)},
    Shared::kSlots,
    Shared::kItems,
    {"base=2|4|64|...: segments at the start, and of the first arrays, a power of two (the authors' code: 64)",
     PowerOfTwo<&Options::base>(2, 64)},
    {"stride=2|1|8|...: arrays of segments after which their size doubles (the authors' code: 8)",
     Number<&Options::stride>(1, 64)},
    {"expand=2|1: segments that the table grows by (the authors' code: 2)", PowerOfTwo<&Options::expand>(1, 2)},
    Shared::kBalance,
    Shared::kDisplacement,
    Shared::kFingerprints,
    {"overflow=on|off: ask the overflow metadata where in the stash to search, or search everything",
     Switch<&Options::overflow>()},
    Shared::kRecovery,
    Shared::kVersions,
    Shared::kConcurrency,
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  powercut_status status = ReadOptions(config, "dash_lh", kOptions, out);
  if (status == POWERCUT_OK) status = CheckSizes(config, "dash_lh", out->pointers ? kSizes : kWords);
  if (status != POWERCUT_OK) return status;
  if (out->concurrent && out->stash == 0) {
    return BadConfig(config,
                     "concurrency=concurrent takes stash=1 to 3: the lock of the first stash bucket guards the chain");
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options& options, powercut_traits* out) {
  dash::SharedTraits(
      options,
      "Dash's authors' code (baotonglu/dash, src/lh_finger.h): recoverSegment at the first access to a segment after "
      "a crash; recoverMetadata removes duplicates of neighbouring buckets, Merge those of an interrupted split",
      "one thread; a lookup neither recovers nor splits the segment that it reads", out);
}

POWERCUT_SCHEME_TARGET(
    "dash_lh", kOptions.lines,
    "Dash-LH: linear hashing with stash buckets and chains, fingerprints and lazy splits and recovery",
    "Lu, Hao, Wang, Lo: Dash: Scalable Hashing on Persistent Memory, VLDB 2020")

}  // namespace powercut::dash_lh
