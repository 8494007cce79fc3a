// Level hashing with items out of the table, behind the target ABI.
#include <cstring>

#include "targets/common/scheme_target.h"
#include "targets/level/option_lines.h"
#include "targets/level_ptr/table.h"

namespace powercut::level_ptr {
namespace {

using level::Options;

constexpr OptionTable<Options> kOptions({
    POWERCUT_LEVEL_OPTION_LINES,
    {EnumLine<ItemBug, "bug", "a planted bug">(), Named<&Options::item_bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  for (size_t i = 0; i < config.option_count; ++i) {
    if (std::strcmp(config.options[i].key, "concurrency") == 0) {
      return BadConfig(config,
                       "level_ptr takes one thread at a time, and has no option concurrency: an item that is "
                       "freed may still be read by another thread");
    }
  }
  const powercut_status status = ReadOptions(config, "level_ptr", kOptions, out, kSizes);
  // The algorithm has this bug, for items in their slots, as well.
  if (out->item_bug == ItemBug::kEraseFirstCopy) out->bug = level::Bug::kEraseFirstCopy;
  return status;
}

void Table::Traits(const Options& options, powercut_traits* out) { level::Table::Traits(options, out); }

POWERCUT_SCHEME_TARGET(
    "level_ptr", kOptions.lines, "Level hashing with items out of the table: slots of a summary and a pointer",
    "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018, "
    "section 5",
    "expand", "shrink")

}  // namespace powercut::level_ptr
