// Linear probing behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/linear/table.h"

namespace powercut::linear {
namespace {

constexpr OptionTable<Options> kOptions({
    {"slots=16|4|8|64|...: initial number of slots", Number<&Options::slots>(2, 1 << 28)},
    {"erase=shift|tombstone: erase moves the items behind the slot up, or leaves a tombstone",
     Flag<&Options::shifts, "shift">()},
    {"auto_expand=on|off: an insert doubles a table of which three quarters are in use",
     Switch<&Options::auto_expand>()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  return ReadOptions(config, "linear", kOptions, out, ItemSizes{kMostKey, kMostValue});
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->notes = "one thread";
  // Format writes no slot, and of the allocator neither mark nor entries.
  out->needs_zeroed_pool = 1;
}

POWERCUT_SCHEME_TARGET("linear", kOptions.lines, "Linear probing: slots with a state, backward shift or tombstones",
                       "none: a control; Knuth, The Art of Computer Programming, volume 3, 6.4, algorithms L and R",
                       "expand")

}  // namespace powercut::linear
