// Hopscotch hashing behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/hopscotch/table.h"

namespace powercut::hopscotch {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=16|4|8|64|...: initial number of buckets", Number<&Options::buckets>(2, 1 << 28)},
    {"hop=8|2|4|32|...: buckets of a neighbourhood, the paper's H", Number<&Options::hop>(2, 63)},
    {"auto_expand=on|off: an insert or update that finds no room doubles the table (off: FULL)",
     Switch<&Options::auto_expand>()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  return ReadOptions(config, "hopscotch", kOptions, out, ItemSizes{256, 256});
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->notes = "one thread";
  // Format writes no bucket, and of the allocator neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET("hopscotch", kOptions.lines,
                       "Hopscotch hashing: an item lies in the neighbourhood of its home, whose bitmap commits it",
                       "Herlihy, Shavit, Tzafrir: Hopscotch Hashing, DISC 2008; here on persistent memory", "expand")

}  // namespace powercut::hopscotch
