#include "targets/cceh/options.h"

#include <bit>
#include <iterator>

#include "targets/common/options.h"

namespace powercut::cceh {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "depth_before_directory",
                                 "pattern_before_directory",
                                 "pattern_apart",
                                 "sentinel_leaks",
                                 "lock_not_reset",
                                 "format_segments_unflushed",
                                 "format_entries_unflushed",
                                 "format_directory_unflushed",
                                 "doubling_unflushed",
                                 "doubling_depth_apart",
                                 "doubling_frees_first",
                                 "flush_home_line",
                                 "key_before_value",
                                 "update_unflushed",
                                 "erase_unflushed",
                                 "split_unflushed",
                                 "split_depth_unflushed",
                                 "split_clears_first",
                                 "cow_lower_first",
                                 "cow_frees_first",
                                 "recovery_omitted",
                                 "recovery_last_segment",
                                 "leak_segment",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kSplit[] = {"lazy", "cow", nullptr};

enum Key { kSplitName, kSlots, kProbe, kDepth, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {
    {"split", kSplit}, {"slots", nullptr, 4, 65536, kPowerOfTwo}, {"probe", nullptr, 1, 64}, {"depth", nullptr, 0, 16},
    {"bug", kBugs},
};

}  // namespace

const char* const kOptionLines[] = {
    "split=lazy|cow: a split keeps the old segment and deletes lazily, or copies both halves (CCEH(C))",
    "slots=16|4|8|32|64|1024|...: slots of a segment, a power of two; 1024 are the paper's 16 KiB",
    "probe=4|1|2|8|...: buckets, of one cache line each, that linear probing looks at",
    "depth=1|0|2|3|...: initial global depth",
    "bug=none|depth_before_directory|pattern_before_directory|pattern_apart|sentinel_leaks|lock_not_reset|"
    "format_segments_unflushed|format_entries_unflushed|format_directory_unflushed|doubling_unflushed|"
    "doubling_depth_apart|doubling_frees_first|flush_home_line|key_before_value|update_unflushed|erase_unflushed|"
    "split_unflushed|split_depth_unflushed|split_clears_first|cow_lower_first|cow_frees_first|recovery_omitted|"
    "recovery_last_segment|leak_segment: a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*split=*/0, /*slots=*/16, /*probe=*/4, /*depth=*/1, /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "cceh", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != 8 || config.value_size != 8) {
    return BadConfig(config, "cceh takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .cow = chosen[kSplitName] == 1,
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .probe = static_cast<uint8_t>(chosen[kProbe]),
                 .depth = static_cast<uint8_t>(chosen[kDepth]),
                 .slots = static_cast<uint32_t>(chosen[kSlots])};
  return POWERCUT_OK;
}

}  // namespace powercut::cceh
