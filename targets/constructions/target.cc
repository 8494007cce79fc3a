// The lists behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/common/target_entry.h"
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
  const powercut_status status = ReadOptions(config, "constructions", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != 8 || config.value_size != 8) {
    return BadConfig(config, "constructions takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
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

namespace {

constexpr const char* kCommands[] = {nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "constructions",
    .summary = "Lock-free lists behind an array of heads, made durable by FliT, link-and-persist or NVTraverse",
    .paper = "FliT (PPoPP 2022), Log-Free Concurrent Data Structures (USENIX ATC 2018), NVTraverse (PLDI 2020), on the "
             "list of Harris (DISC 2001)",
    .options = kOptions.lines,
    .commands = kCommands,
});

}  // namespace
}  // namespace powercut::constructions

POWERCUT_TARGET_ENTRY(powercut::constructions::kTarget)
