// The lists behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/constructions/table.h"

namespace powercut::constructions {
namespace {

constexpr OptionTable<Options> kOptions({
    {EnumLine<Kind, "construction", "what makes the lists durable">(), Named<&Options::construction>()},
    {"buckets=1|2|4|8|16|...: number of lists, a power of two; in one list all keys are neighbours",
     PowerOfTwo<&Options::buckets>(1, 1 << 20)},
    {EnumLine<Bug, "bug", "a planted bug, of one construction">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "constructions", kOptions, out, kWords);
  if (status != POWERCUT_OK) return status;
  if (out->bug != Bug::kNone && BrokenBy(out->bug) != out->construction) {
    const char* needed = NameOf(BrokenBy(out->bug));
    return BadConfig(config, "bug %s breaks the construction %s; set construction = \"%s\"", NameOf(out->bug), needed,
                     needed);
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->checks_exists = 1;
  out->thread_safe = 1;
  out->notes = "lock-free; a node is used again after the next open, not before";
}

POWERCUT_SCHEME_TARGET(
    "constructions", kOptions.lines,
    "Lock-free lists behind an array of heads, made durable by FliT, link-and-persist or NVTraverse",
    "FliT (PPoPP 2022), Log-Free Concurrent Data Structures (USENIX ATC 2018), NVTraverse (PLDI 2020), on the "
    "list of Harris (DISC 2001)")

}  // namespace powercut::constructions
