#include "targets/common/cuckoo/options.h"

#include <bit>

#include "targets/common/options.h"

namespace powercut::cuckoo {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "insert_unordered",
                                 "path_end_unordered",
                                 "move_unordered",
                                 "update_unordered",
                                 "stash_unordered",
                                 "stash_unflushed",
                                 "kick_out",
                                 "move_clear_first",
                                 "move_duplicate",
                                 "unstash_clear_first",
                                 "erase_first_copy",
                                 "update_first_copy",
                                 "update_two_writes",
                                 "log_unordered",
                                 "log_cleared_early",
                                 "log_not_replayed",
                                 "rehash_clear_first",
                                 "rehash_not_finished",
                                 "descriptor_late",
                                 "resize_early",
                                 "free_early",
                                 "leak_table",
                                 "header_not_flushed",
                                 "flush_first_line",
                                 "tag_late",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kResize[] = {"copy", "rehash", nullptr};
constexpr const char* kUpdate[] = {"opportunistic", "logged", "inplace", nullptr};

enum Key { kBuckets, kSlots, kTables, kLimit, kResizeBy, kUpdateMode, kAutoExpand, kStash, kUnstash, kBug, kKeys };

bool Offers(int key) {
  if (key == kTables) return kScheme.tables != nullptr;
  if (key == kStash || key == kUnstash) return kScheme.stash;
  return true;
}

}  // namespace

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  const OptionSpec specs[kKeys] = {
      {"buckets", nullptr, 2, uint64_t{1} << 24, kPowerOfTwo},
      {"slots", kScheme.slots},
      {"tables", kScheme.tables},
      {"limit", nullptr, 1, kMostSteps},
      {"resize", kResize},
      {"update", kUpdate},
      {"auto_expand", kSwitch},
      {"stash", nullptr, 1, kMostSlots},
      {"unstash", kSwitch},
      {"bug", kScheme.bugs},
  };
  uint64_t chosen[kKeys] = {kScheme.buckets,   /*slots=*/0,    /*tables=*/0,
                            kMostSteps,        kScheme.rehash, static_cast<uint64_t>(kScheme.update),
                            /*auto_expand=*/1,
                            /*stash=*/4,       /*unstash=*/1,  /*bug=*/0};
  // The options that this scheme has, side by side.
  OptionSpec offered[kKeys];
  uint64_t given[kKeys];
  int key_of[kKeys];
  size_t count = 0;
  for (int key = 0; key < kKeys; ++key) {
    if (!Offers(key)) continue;
    offered[count] = specs[key];
    given[count] = chosen[key];
    key_of[count++] = key;
  }
  bool hardened = false;
  const powercut_status status = ReadOptions(config, kScheme.name, {offered, count}, {given, count}, &hardened);
  if (status != POWERCUT_OK) return status;
  for (size_t i = 0; i < count; ++i) chosen[key_of[i]] = given[i];
  const bool wide = config.key_size == 16 && config.value_size >= 1 && config.value_size <= 15;
  if (!wide && (config.key_size != 8 || config.value_size != 8)) {
    return BadConfig(config, "%s takes 8 and 8 bytes of key and value, or 16 and 1 to 15, not %u and %u", kScheme.name,
                     config.key_size, config.value_size);
  }
  // The values of these options are digits.
  const auto number = [](const char* const* values, uint64_t index) {
    uint8_t out = 0;
    for (const char* at = values[index]; *at != '\0'; ++at) out = static_cast<uint8_t>(out * 10 + (*at - '0'));
    return out;
  };
  const auto bug = static_cast<Bug>(IndexOf(kBugs, kScheme.bugs[chosen[kBug]]));
  *out = Options{.hardened = hardened,
                 .kick_out = (kScheme.kicks_out && !hardened) || bug == Bug::kKickOut,
                 .treats_duplicates = (hardened || !kScheme.made_for_dram) && bug != Bug::kUpdateFirstCopy,
                 .bare_update = kScheme.made_for_dram && !hardened,
                 .rehash = chosen[kResizeBy] == 1,
                 .unstash = kScheme.stash && IsOn(chosen[kUnstash]),
                 .auto_expand = IsOn(chosen[kAutoExpand]),
                 .tags = kScheme.tags,
                 .wide = wide,
                 .search = kScheme.search,
                 .update = static_cast<UpdateBy>(chosen[kUpdateMode]),
                 .bug = bug,
                 .log2 = static_cast<uint8_t>(std::countr_zero(chosen[kBuckets])),
                 .tables = kScheme.tables == nullptr ? uint8_t{1} : number(kScheme.tables, chosen[kTables]),
                 .slots = number(kScheme.slots, chosen[kSlots]),
                 .stash = kScheme.stash ? static_cast<uint8_t>(chosen[kStash]) : uint8_t{0},
                 .limit = static_cast<uint16_t>(chosen[kLimit]),
                 .key_size = static_cast<uint8_t>(config.key_size),
                 .value_size = static_cast<uint8_t>(config.value_size)};
  return POWERCUT_OK;
}

}  // namespace powercut::cuckoo
