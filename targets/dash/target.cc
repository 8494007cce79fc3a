// Dash-EH behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/dash/table.h"

namespace powercut::dash {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=4|8|16|64|...: normal buckets of a segment, a power of two (the authors' code: 64)",
     PowerOfTwo<&Options::buckets>(4, 64)},
    {"stash=2|0|1|4|...: stash buckets of a segment, at most 4", Number<&Options::stash>(0, 4)},
    {"slots=14|4|2|...: slots of a bucket that are used; a bucket of 256 bytes has 14", Number<&Options::slots>(1, 14)},
    {"depth=0|1|3|...: global depth at the start", Number<&Options::depth>(0, 16)},
    {"balance=on|off: insert into the less loaded of two buckets, or into the first one that has room",
     Switch<&Options::balance>()},
    {"displacement=on|off: move a record to its other bucket where both buckets are full",
     Switch<&Options::displacement>()},
    {"fingerprints=on|off: compare keys only where the fingerprint agrees", Switch<&Options::fingerprints>()},
    {"overflow=on|off: ask the overflow metadata which stash bucket to search, or search all",
     Switch<&Options::overflow>()},
    {"recovery=lazy|eager: recover a segment when an operation first writes to it, or all of them at open",
     Flag<&Options::eager, "eager">()},
    {"versions=255|1|2|...: largest global version; after it every segment's version is reset",
     Number<&Options::versions>(1, 255)},
    {"concurrency=single|concurrent: one thread at a time, or threads that lock buckets and read them without a lock",
     Flag<&Options::concurrent, "concurrent">()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "dash", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != 8 || config.value_size != 8) {
    return BadConfig(config, "dash takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options& options, powercut_traits* out) {
  out->checks_exists = 1;
  // An eager open recovers every segment, so that no duplicate is left.
  if (!options.eager) {
    out->copy_bound = 2;
    out->copy_citation =
        "Dash's authors' code (baotonglu/dash, src/ex_finger.h): recoverTable at the first access to a segment after a "
        "crash; recoverMetadata removes duplicates of neighbouring buckets, HelpSplit those of an interrupted split";
  }
  out->thread_safe = options.concurrent ? 1 : 0;
  out->notes = !options.concurrent ? "one thread; a lookup does not recover the segment that it reads"
               : options.hardened
                   ? "bucket locks, in the pool, held until a change is durable; lookups check versions"
                   : "bucket locks, in the pool, released before a change is durable; lookups check versions";
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
    .options = powercut::dash::kOptions.lines,
    .commands = kCommands,
});

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
