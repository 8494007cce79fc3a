// Dash-EH behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/dash/table.h"

namespace powercut::dash {

void Table::Traits(const Options& options, powercut_traits* out) {
  out->checks_exists = 1;
  // An eager open recovers every segment, so that no duplicate is left.
  if (!options.eager) {
    out->copy_bound = 2;
    out->copy_citation =
        "Dash's authors' code (baotonglu/dash, src/ex_finger.h): recoverTable at the first access to a segment after a "
        "crash; recoverMetadata removes duplicates of neighbouring buckets, HelpSplit those of an interrupted split";
  }
  out->notes = "one thread; a lookup does not recover the segment that it reads";
  // format writes no bucket and, of the allocator, neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

}  // namespace powercut::dash

namespace {

constexpr const char* kCommands[] = {nullptr};

constexpr powercut_target kTarget = powercut::SchemeTarget<powercut::dash::Table>::Entry({
    .name = "dash",
    .summary = "Dash-EH: extendible hashing with stash buckets, fingerprints and lazy recovery of each segment",
    .paper = "Lu, Hao, Wang, Lo: Dash: Scalable Hashing on Persistent Memory, VLDB 2020",
    .options = powercut::dash::kOptionLines,
    .commands = kCommands,
});

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
