#include "targets/smartcuckoo/options.h"

#include <bit>

#include "targets/common/options.h"
#include "targets/smartcuckoo/layout.h"

namespace powercut::smartcuckoo {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "move_forward",
                                 "move_clear_first",
                                 "token_first",
                                 "token_line_only",
                                 "erase_unflushed",
                                 "erase_first_copy",
                                 "update_unlogged",
                                 "update_first_copy",
                                 "log_unordered",
                                 "log_not_replayed",
                                 "resize_early",
                                 "free_early",
                                 "duplicate_kept",
                                 "component_forgotten",
                                 "header_unflushed",
                                 "leak_directory",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kForest[] = {"scan", "on_demand", nullptr};

enum Key { kBuckets, kAutoExpand, kForestName, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {
    {"buckets", nullptr, 2, uint64_t{1} << kMaxLog2, kPowerOfTwo},
    {"auto_expand", kSwitch},
    {"forest", kForest},
    {"bug", kBugs},
};

}  // namespace

const char* const kOptionLines[] = {
    "buckets=8|2|4|16|64|...: initial number of buckets of each of the two tables, a power of two",
    "auto_expand=on|off: an insert that is predetermined to fail rehashes into a larger table (off: FULL)",
    "forest=scan|on_demand: open rebuilds the whole pseudoforest, or an operation learns the paths that it needs",
    "bug=none|move_forward|move_clear_first|token_first|token_line_only|erase_unflushed|erase_first_copy|"
    "update_unlogged|update_first_copy|log_unordered|log_not_replayed|resize_early|free_early|duplicate_kept|"
    "component_forgotten|header_unflushed|leak_directory: a planted bug",
    nullptr};

powercut_status ReadConfig(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*buckets=*/8, /*auto_expand=*/1, /*forest=*/0, /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "smartcuckoo", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (config.key_size == 0 || config.key_size > kMostKey || config.value_size == 0 || config.value_size > kMostValue) {
    return BadConfig(config, "smartcuckoo takes keys of 1 to %u bytes and values of 1 to %u bytes, not %u and %u",
                     kMostKey, kMostValue, config.key_size, config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .auto_expand = IsOn(chosen[kAutoExpand]),
                 .on_demand = chosen[kForestName] == 1,
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .log2 = static_cast<uint8_t>(std::countr_zero(chosen[kBuckets])),
                 .key_size = static_cast<uint8_t>(config.key_size),
                 .value_size = static_cast<uint8_t>(config.value_size)};
  return POWERCUT_OK;
}

}  // namespace powercut::smartcuckoo
