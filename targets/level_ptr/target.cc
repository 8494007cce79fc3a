// Level hashing with items out of the table, behind the target ABI.
#include "targets/common/scheme_target.h"
#include "targets/level/option_lines.h"
#include "targets/level_ptr/table.h"

namespace powercut::level_ptr {
namespace {

using level::Options;

constexpr OptionTable<Options> kOptions({
    POWERCUT_LEVEL_OPTION_LINES,
    {"port=none|clevel: the table of the paper's section 5, or the port that clevel's authors measured; that has 4 "
     "slots "
     "and takes no option of shape but top and auto_expand",
     Flag<&Options::port, "clevel">()},
    {"concurrency=single|concurrent: one thread at a time, or the locks of slots and keys of target level "
     "(port=clevel)",
     Flag<&Options::concurrent, "concurrent">()},
    {"threads=1|2|3: threads that the barrier of port=clevel waits for, as its harness says before each phase "
     "(published)",
     Number<&Options::threads>()},
    {EnumLine<ItemBug, "bug", "a planted bug">(), Named<&Options::item_bug>()},
});

}  // namespace

// The port decides what the options of shape choose from.
static powercut_status ReadPort(const powercut_config& config, Options* out) {
  static constexpr const char* kDecided[] = {"slots",  "opportunistic", "resize", "b2t",
                                             "search", "movement",      "hashes", nullptr};
  for (size_t i = 0; i < config.option_count; ++i) {
    if (IndexOf(kDecided, config.options[i].key) < 0) continue;
    return BadConfig(config, "port=clevel decides option %s: leave it out", config.options[i].key);
  }
  if (out->top_log2 < 2)
    return BadConfig(config, "port=clevel takes top=4 and more: each hash function has half a level");
  out->slots = 4;
  out->halves = out->late_movement = true;
  out->opportunistic = out->b2t = out->dynamic_search = false;
  return POWERCUT_OK;
}

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "level_ptr", kOptions, out, kSizes);
  if (status != POWERCUT_OK) return status;
  if (out->concurrent && !out->port) {
    return BadConfig(config,
                     "level_ptr takes one thread at a time, but for port=clevel: section 3.4 of the paper does not say "
                     "when an item may be freed that another thread reads");
  }
  // The algorithm has these bugs, for items in their slots, as well.
  if (out->item_bug == ItemBug::kEraseFirstCopy) out->bug = level::Bug::kEraseFirstCopy;
  if (out->item_bug == ItemBug::kInsertNotUnique) out->bug = level::Bug::kInsertCheckApart;
  return out->port ? ReadPort(config, out) : POWERCUT_OK;
}

void Table::Traits(const Options& options, powercut_traits* out) { level::Table::Traits(options, out); }

POWERCUT_SCHEME_TARGET(
    "level_ptr", kOptions.lines, "Level hashing with items out of the table: slots of a summary and a pointer",
    "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018, "
    "section 5",
    "expand", "shrink")

}  // namespace powercut::level_ptr
