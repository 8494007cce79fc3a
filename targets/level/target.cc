// Level hashing behind the target ABI.
#include <cstring>

#include "targets/common/scheme_target.h"
#include "targets/level/table.h"

namespace powercut::level {
namespace {

constexpr OptionTable<Options> kOptions({
    {"top=4|2|8|16|...: initial number of top-level buckets, a power of two", Log2<&Options::top_log2>(2, 1 << 28)},
    {"slots=4|8|16: slots of a bucket", Number<&Options::slots>()},
    {"layout=auto|16x15|8x8: bytes of key and value; 16x15 puts two slots in a line, 8x8 packs slots across lines",
     Named<&Options::layout>()},
    {"auto_expand=on|off: an insert that finds no place expands the table and tries again (off: FULL)",
     Switch<&Options::auto_expand>()},
    {"opportunistic=on|off: update without a log where the bucket has an empty slot",
     Switch<&Options::opportunistic>()},
    {"resize=inplace|traditional: rehash one level of three, or the whole table into a new one (Level-Trad)",
     Flag<&Options::traditional, "traditional">()},
    {"b2t=on|off: bottom-to-top movement", Switch<&Options::b2t>()},
    {"search=dynamic|static: probe the fuller level first, or always the top level",
     Flag<&Options::dynamic_search, "dynamic">()},
    {"movement=eager|late: try to move before going down a level (the paper's text), or once both levels are full",
     Flag<&Options::late_movement, "late">()},
    {"hashes=whole|halves: both hash functions address all buckets of a level (the paper's text), or each its half",
     Flag<&Options::halves, "halves">()},
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

void Table::Traits(const Options& options, powercut_traits* out) {
  out->copy_bound = 2;
  out->copy_citation =
      "Level hashing (OSDI'18), 3.3(2)b: \"the hash table contains two duplicate key-value items, which however does "
      "not impact on the data consistency\"";
  out->notes = "one thread; insert does not look for the key (the paper inserts unique keys)";
  if (options.concurrent) {
    out->thread_safe = 1;
    out->checks_exists = options.hardened ? 1 : 0;
    out->notes = options.hardened ? "slot locks, and a lock of the key that makes insert unique"
                                  : "slot locks; insert does not look for the key (the paper inserts unique keys)";
  }
  // A fresh file is zeroes already. Without that, format would write every bucket's header a second time, and every
  // entry of the allocator.
  out->needs_zeroed_pool = 1;
}

Item Table::ItemOf(const uint8_t* key, const uint8_t* value) const {
  Item item;
  std::memcpy(item.bytes, key, options_.key_size);
  if (value != nullptr) std::memcpy(item.bytes + options_.key_size, value, options_.value_size);
  return item;
}

powercut_status Table::Maintain(const char* command) {
  if (std::strcmp(command, "expand") == 0) return Expand();
  if (std::strcmp(command, "shrink") == 0) return Shrink();
  return POWERCUT_UNSUPPORTED;
}

POWERCUT_SCHEME_TARGET(
    "level", kOptions.lines, "Level hashing: two levels that share buckets, log-free but for updates of full buckets",
    "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018",
    "expand", "shrink")

}  // namespace powercut::level
