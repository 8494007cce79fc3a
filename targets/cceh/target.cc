// CCEH behind the target ABI.
#include "targets/cceh/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::cceh {
namespace {

constexpr OptionTable<Options> kOptions({
    {"split=lazy|cow: a split keeps the old segment and deletes lazily, or copies both halves (CCEH(C))",
     Flag<&Options::cow, "cow">()},
    {"slots=16|4|8|32|64|1024|...: slots of a segment, a power of two; 1024 are the paper's 16 KiB",
     PowerOfTwo<&Options::slots>(4, 65536)},
    {"probe=4|1|2|8|...: buckets, of one cache line each, that linear probing looks at",
     Number<&Options::probe>(1, 64)},
    {"depth=1|0|2|3|...: initial global depth", Number<&Options::depth>(0, 16)},
    {"hash=single|double: where a full window ends the search for a slot, or a second hash names another window "
     "(CCEH16)",
     Flag<&Options::double_hashing, "double">()},
    {"items=slot|pointer|transaction: 8-byte keys and values in the slots; items of any size, which slots point to; "
     "the same, changed in undo transactions (CCEH30)",
     Named<&Options::items>()},
    {"concurrency=single|concurrent: one thread at a time, or locks of the segments and the directory",
     Flag<&Options::concurrent, "concurrent">()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "cceh", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (!out->has_pointers()) {
    if (!out->are_mixed()) return CheckSizes(config, "cceh", kWords);
    return BadConfig(config, "cceh takes keys and values of 8 bytes; with items=pointer, of any size");
  }
  return CheckSizes(config, "cceh", kSizes);
}

void Table::Traits(const Options& options, powercut_traits* out) {
  if (!options.has_pointers()) out->mixed_sizes = out->most_key_size = out->most_value_size = 0;
  out->thread_safe = options.concurrent ? 1 : 0;
  out->checks_exists = options.concurrent && options.hardened ? 1 : 0;
  out->notes = !options.concurrent ? "one thread; insert does not look for the key"
               : options.hardened || options.has_pointers()
                   ? "reader/writer locks of the segments, in the pool, and of the directory"
                   : "segment locks, in the pool, that all but splits share; a lock of the directory";
  // A fresh file is zeroes already. Without that, format would write the entries of the allocator and the reserved
  // items a second time.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET("cceh", kOptions.lines,
                       "CCEH: extendible hashing with segments of cache-line buckets, lazy deletion after a split",
                       "Nam, Cha, Choi, Noh, Nam: Write-Optimized Dynamic Hashing for Persistent Memory, FAST 2019")

}  // namespace powercut::cceh
