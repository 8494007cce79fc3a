#include "targets/pclht/options.h"

#include <bit>

#include "targets/common/options.h"

namespace powercut::pclht {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "key_before_value",
                                 "chain_unflushed",
                                 "link_unflushed",
                                 "update_unflushed",
                                 "erase_unflushed",
                                 "hash_table_unflushed",
                                 "root_unflushed",
                                 "resize_table_unflushed",
                                 "resize_chain_unflushed",
                                 "root_swap_unflushed",
                                 "publish_first",
                                 "free_before_publish",
                                 "oldest_not_persisted",
                                 "locks_not_reset",
                                 "no_sweep",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

enum Key { kBuckets, kExpansions, kAutoResize, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {
    {"buckets", nullptr, 1, uint64_t{1} << 28, kPowerOfTwo},
    {"expansions", nullptr, 1, 64},
    {"auto_resize", kSwitch},
    {"bug", kBugs},
};

}  // namespace

const char* const kOptionLines[] = {
    "buckets=4|1|2|8|16|...: initial number of buckets, a power of two",
    "expansions=1|2|4|...: chained buckets, in multiples of the number of buckets, at which the table is resized",
    "auto_resize=on|off: an insert that reaches this number resizes the table (off: the chains grow)",
    "bug=none|key_before_value|chain_unflushed|link_unflushed|update_unflushed|erase_unflushed|hash_table_unflushed|"
    "root_unflushed|resize_table_unflushed|resize_chain_unflushed|root_swap_unflushed|publish_first|"
    "free_before_publish|oldest_not_persisted|locks_not_reset|no_sweep: a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*buckets=*/4, /*expansions=*/1, /*auto_resize=*/1, /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "pclht", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != 8 || config.value_size != 8) {
    return BadConfig(config, "pclht takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .auto_resize = IsOn(chosen[kAutoResize]),
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .buckets = static_cast<uint32_t>(chosen[kBuckets]),
                 .expansions = static_cast<uint32_t>(chosen[kExpansions])};
  return POWERCUT_OK;
}

}  // namespace powercut::pclht
