// Dash-LH behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/dash_lh/table.h"

namespace powercut::dash_lh {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=4|8|16|64|...: normal buckets of a segment, a power of two (the authors' code: 64)",
     PowerOfTwo<&Options::buckets>(4, 64)},
    {"stash=2|0|1|3: stash buckets of a segment; when they are full it gets a chain", Number<&Options::stash>(0, 3)},
    {"slots=14|4|2|...: slots of a bucket that are used; a bucket of 256 bytes has 14", Number<&Options::slots>(1, 14)},
    {"base=2|4|64|...: segments at the start, and of the first arrays, a power of two (the authors' code: 64)",
     PowerOfTwo<&Options::base>(2, 64)},
    {"stride=2|1|8|...: arrays of segments after which their size doubles (the authors' code: 8)",
     Number<&Options::stride>(1, 64)},
    {"expand=2|1: segments that the table grows by (the authors' code: 2)", PowerOfTwo<&Options::expand>(1, 2)},
    {"balance=on|off: insert into the less loaded of two buckets, or into the first one that has room",
     Switch<&Options::balance>()},
    {"displacement=on|off: move a record to its other bucket where both buckets are full",
     Switch<&Options::displacement>()},
    {"fingerprints=on|off: compare keys only where the fingerprint agrees", Switch<&Options::fingerprints>()},
    {"overflow=on|off: ask the overflow metadata where in the stash to search, or search everything",
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
  const powercut_status status = ReadOptions(config, "dash_lh", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != 8 || config.value_size != 8) {
    return BadConfig(config, "dash_lh takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  if (out->concurrent && out->stash == 0) {
    return BadConfig(config,
                     "concurrency=concurrent takes stash=1 to 3: the lock of the first stash bucket guards the chain");
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options& options, powercut_traits* out) {
  out->checks_exists = 1;
  // An eager open recovers every segment, so that no duplicate is left.
  if (!options.eager) {
    out->copy_bound = 2;
    out->copy_citation =
        "Dash's authors' code (baotonglu/dash, src/lh_finger.h): recoverSegment at the first access to a segment after "
        "a crash; recoverMetadata removes duplicates of neighbouring buckets, Merge those of an interrupted split";
  }
  out->thread_safe = options.concurrent ? 1 : 0;
  out->notes = !options.concurrent ? "one thread; a lookup neither recovers nor splits the segment that it reads"
               : options.hardened
                   ? "bucket locks, in the pool, held until a change is durable; lookups check versions"
                   : "bucket locks, in the pool, released before a change is durable; lookups check versions";
  // format writes no bucket and, of the allocator, neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

}  // namespace powercut::dash_lh

namespace {

constexpr const char* kCommands[] = {nullptr};

constexpr powercut_target kTarget = powercut::SchemeTarget<powercut::dash_lh::Table>::Entry({
    .name = "dash_lh",
    .summary = "Dash-LH: linear hashing with stash buckets and chains, fingerprints and lazy splits and recovery",
    .paper = "Lu, Hao, Wang, Lo: Dash: Scalable Hashing on Persistent Memory, VLDB 2020",
    .options = powercut::dash_lh::kOptions.lines,
    .commands = kCommands,
});

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
