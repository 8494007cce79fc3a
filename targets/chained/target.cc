// The chained table behind the target ABI.
#include "targets/chained/table.h"
#include "targets/common/scheme_target.h"

namespace powercut::chained {
namespace {

constexpr OptionTable<Options> kOptions({
    {"buckets=4|1|2|16|...: initial number of buckets", Number<&Options::buckets>(1, 1 << 28)},
    {"load=2|1|4|...: items for each bucket at which an insert expands the table first",
     Number<&Options::load>(1, 1 << 20)},
    {"auto_expand=on|off: inserts expand the table (off: the chains grow)", Switch<&Options::auto_expand>()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  return ReadOptions(config, "chained", kOptions, out, kSizes);
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->notes = "one thread";
  // Format writes no head, and of the allocator neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET("chained", kOptions.lines, "A chained hash table: heads, and a node for each item",
                       "none: a control; Knuth, The Art of Computer Programming, volume 3, 6.4", "expand")

}  // namespace powercut::chained
