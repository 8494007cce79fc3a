#include "targets/clevel/options.h"

#include <bit>
#include <iterator>

#include "targets/common/options.h"

namespace powercut::clevel {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "index_after_context",
                                 "index_before_items",
                                 "rehash_clear_first",
                                 "insert_unordered",
                                 "insert_unflushed",
                                 "insert_into_last",
                                 "update_unordered",
                                 "update_frees_first",
                                 "update_first_copy",
                                 "erase_first_copy",
                                 "context_unordered",
                                 "context_in_place",
                                 "level_uninitialised",
                                 "expand_without_help",
                                 "buffers_not_scanned",
                                 "insert_not_redone",
                                 "context_not_helped",
                                 "update_not_rechecked",
                                 "erase_not_rechecked",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kInterleaves[] = {
    "none", "expand_in_search", "expand_in_insert", "expand_unpersisted", "rehash_in_update", "rehash_in_erase",
    nullptr};
constexpr const char* kSlots[] = {"4", "8", "16", nullptr};
constexpr const char* kVersions[] = {"4", "8", "16", nullptr};

enum Key { kFirst, kSlotCount, kAutoExpand, kAutoRehash, kInterleave, kVersionBits, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {
    {"first", nullptr, 2, uint64_t{1} << 28, kPowerOfTwo},
    {"slots", kSlots},
    {"auto_expand", kSwitch},
    {"auto_rehash", nullptr, 0, uint64_t{1} << 20},
    {"interleave", kInterleaves},
    {"version_bits", kVersions},
    {"bug", kBugs},
};

}  // namespace

const char* const kOptionLines[] = {
    "first=2|4|8|16|...: initial number of buckets of the first level, a power of two; the last level has half of them",
    "slots=8|4|16: slots of a bucket",
    "auto_expand=on|off: an insert that finds no place adds a level and tries again (off: FULL)",
    "auto_rehash=1|0|2|8|...: buckets that the rehashing thread is given time for after each operation",
    "interleave=none|expand_in_search|expand_in_insert|expand_unpersisted|rehash_in_update|rehash_in_erase: a step of "
    "another thread that falls into an operation, at the place that the paper's context checks are for",
    "version_bits=16|8|4: bits of the context's version, which must not come round between two looks of a thread. "
    "Where a "
    "loop publishes for ever, few of them let its state come back soon, so that it is found to be endless",
    "bug=none|index_after_context|index_before_items|rehash_clear_first|insert_unordered|insert_unflushed|"
    "insert_into_last|update_unordered|update_frees_first|update_first_copy|erase_first_copy|context_unordered|"
    "context_in_place|level_uninitialised|expand_without_help|buffers_not_scanned|insert_not_redone|"
    "context_not_helped|update_not_rechecked|erase_not_rechecked: a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*first=*/2,       /*slots=*/1,      /*auto_expand=*/1,
                            /*auto_rehash=*/1, /*interleave=*/0, /*version_bits=*/2, /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "clevel", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (config.key_size == 0 || config.key_size > 64) {
    return BadConfig(config, "clevel takes keys of 1 to 64 bytes, not %u", config.key_size);
  }
  if (config.value_size == 0 || config.value_size > 1024) {
    return BadConfig(config, "clevel takes values of 1 to 1024 bytes, not %u", config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .auto_expand = IsOn(chosen[kAutoExpand]),
                 .interleave = static_cast<Interleave>(chosen[kInterleave]),
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .slots = static_cast<uint8_t>(4u << chosen[kSlotCount]),
                 .first_log2 = static_cast<uint8_t>(std::countr_zero(chosen[kFirst])),
                 .auto_rehash = static_cast<uint32_t>(chosen[kAutoRehash]),
                 .version_bits = static_cast<uint8_t>(4u << chosen[kVersionBits]),
                 .key_size = config.key_size,
                 .value_size = config.value_size};
  return POWERCUT_OK;
}

}  // namespace powercut::clevel
