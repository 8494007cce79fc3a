// P-CLHT behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/pclht/table.h"

namespace powercut::pclht {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=4|1|2|8|16|...: initial number of buckets, a power of two", PowerOfTwo<&Options::buckets>(1, 1 << 28)},
    {"expansions=1|2|4|...: chained buckets, in multiples of the number of buckets, at which the table is resized",
     Number<&Options::expansions>(1, 64)},
    {"auto_resize=on|off: an insert that reaches this number resizes the table (off: the chains grow)",
     Switch<&Options::auto_resize>()},
    {"concurrency=single|concurrent: one thread at a time, or bucket locks, lock-free searches and a helper of resizes",
     Flag<&Options::concurrent, "concurrent">()},
    {EnumLine<Items, "items",
              "what an entry holds: 8 bytes twice, up to 15 bytes twice, or a pointer to items of any size">(),
     Named<&Options::items>()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "pclht", kOptions, out);
  if (status != POWERCUT_OK) return status;
  switch (out->items) {
    case Items::kPointer:
      return CheckSizes(config, "pclht with items=pointer", kSizes);
    case Items::kInline:
      if (out->are_mixed())
        return BadConfig(config, "pclht with items=inline takes keys of one size, and values of one");
      return CheckSizes(config, "pclht with items=inline", {.most_key = kMostInline, .most_value = kMostInline});
    case Items::kWords:
    case Items::kCount:
      break;
  }
  return CheckSizes(config, "pclht", kWords);
}

void Table::Traits(const Options& options, powercut_traits* out) {
  out->checks_exists = 1;
  out->thread_safe = options.concurrent ? 1 : 0;
  out->notes = options.concurrent ? "bucket locks, lock-free searches; a thread that waits for a resize helps it"
                                  : "one thread; no helper during a resize";
  // zalloc in the authors' code; here a fresh file is zeroes already, and so are the entries of the allocator.
  out->needs_zeroed_pool = 1;
  if (options.items != Items::kPointer) out->mixed_sizes = out->most_key_size = out->most_value_size = 0;
}

POWERCUT_SCHEME_TARGET(
    "pclht", kOptions.lines, "P-CLHT: chained buckets of one line, the whole table copied to resize it",
    "Lee, Mohan, Kashyap, Kim, Chidambaram: RECIPE: Converting Concurrent DRAM Indexes to Persistent-Memory "
    "Indexes, SOSP 2019",
    "expand", "shrink", "status")

}  // namespace powercut::pclht
