// The map behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/common/target_entry.h"
#include "targets/montage/table.h"

namespace powercut::montage {
namespace {

constexpr OptionTable<Options> kOptions({
    {"every=1|0|2|...: operations that change something, after which the clock moves on (0: only on command)",
     Number<&Options::every>(0)},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

constexpr const char* kCommands[] = {"sync", "advance", nullptr};

constexpr powercut_target kTarget = SchemeTarget<Table>::Entry({
    .name = "montage",
    .summary = "a map whose operations are buffered: payloads tagged with epochs, an index that open makes again",
    .paper = "Wen, Cai, Du, Jenkins, Valpey, Scott: A Fast, General System for Buffered Persistent Data Structures, "
             "ICPP 2021",
    .options = kOptions.lines,
    .commands = kCommands,
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "montage", kOptions, out);
  if (status != POWERCUT_OK) return status;
  if (config.key_size == 0 || config.key_size > kMostKey || config.value_size == 0 || config.value_size > kMostValue) {
    return BadConfig(config, "montage takes keys of 1 to %u bytes and values of 1 to %u bytes, not %u and %u", kMostKey,
                     kMostValue, config.key_size, config.value_size);
  }
  return POWERCUT_OK;
}

void Table::Traits(const Options&, powercut_traits* out) {
  out->thread_safe = 1;
  out->buffered = 1;
  out->checks_exists = 1;
  out->needs_zeroed_pool = 1;
  out->notes = "what the last two epochs have written is lost, unless 'sync' comes after it (Wen et al., ICPP 2021, 3)";
}

}  // namespace powercut::montage

POWERCUT_TARGET_ENTRY(powercut::montage::kTarget)
