// The map behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/montage/table.h"

namespace powercut::montage {
namespace {

constexpr OptionTable<Options> kOptions({
    {"every=1|0|2|...: operations that change something, after which the clock moves on (0: only on command)",
     Number<&Options::every>(0)},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  return ReadOptions(config, "montage", kOptions, out, kSizes);
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->thread_safe = 1;
  out->buffered = 1;
  out->checks_exists = 1;
  out->needs_zeroed_pool = 1;
  out->notes = "what the last two epochs have written is lost, unless 'sync' comes after it (Wen et al., ICPP 2021, 3)";
}

POWERCUT_SCHEME_TARGET(
    "montage", kOptions.lines,
    "a map whose operations are buffered: payloads tagged with epochs, an index that open makes again",
    "Wen, Cai, Du, Jenkins, Valpey, Scott: A Fast, General System for Buffered Persistent Data Structures, "
    "ICPP 2021",
    "sync", "advance")

}  // namespace powercut::montage
