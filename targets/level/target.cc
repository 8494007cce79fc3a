// Level hashing behind the target ABI.
#include <cstring>

#include "targets/common/scheme_target.h"
#include "targets/level/option_lines.h"
#include "targets/level/table.h"

namespace powercut::level {
namespace {

constexpr OptionTable<Options> kOptions({
    POWERCUT_LEVEL_OPTION_LINES,
    {"layout=auto|16x15|8x8: bytes of key and value; 16x15 puts two slots in a line, 8x8 packs slots across lines",
     Named<&Options::layout>()},
    {"concurrency=single|concurrent: one thread at a time, or a lock a slot (3.4), the resize lock, and what "
     "`hardened` adds",
     Flag<&Options::concurrent, "concurrent">()},
    {EnumLine<Bug, "bug", "a planted bug">(), Named<&Options::bug>()},
});

}  // namespace

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = ReadOptions(config, "level", kOptions, out);
  if (status != POWERCUT_OK) return status;
  out->wide = out->layout == Layout::k16x15 || (out->layout == Layout::kAuto && config.key_size != 8);
  if (out->wide && (config.key_size != 16 || config.value_size == 0 || config.value_size > 15)) {
    return BadConfig(config, "layout 16x15 takes keys of 16 bytes and values of 1 to 15 bytes, not %u and %u",
                     config.key_size, config.value_size);
  }
  if (!out->wide && (config.key_size != 8 || config.value_size != 8)) {
    return BadConfig(config, "layout 8x8 takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  return POWERCUT_OK;
}

Item Table::ItemOf(const uint8_t* key, const uint8_t* value) const {
  Item item;
  std::memcpy(item.bytes, key, options_.key_size);
  if (value != nullptr) std::memcpy(item.bytes + options_.key_size, value, options_.value_size);
  return item;
}

POWERCUT_SCHEME_TARGET(
    "level", kOptions.lines, "Level hashing: two levels that share buckets, log-free but for updates of full buckets",
    "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018",
    "expand", "shrink")

}  // namespace powercut::level
