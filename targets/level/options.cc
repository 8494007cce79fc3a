#include "targets/level/options.h"

#include <bit>

#include "targets/common/options.h"

namespace powercut::level {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "insert_top_unordered",
                                 "insert_bottom_unordered",
                                 "insert_after_move_unordered",
                                 "move_unordered",
                                 "b2t_unordered",
                                 "update_unordered",
                                 "rehash_clear_first",
                                 "expand_capacity_first",
                                 "expand_uninitialised",
                                 "shrink_two_pointers",
                                 "erase_first_copy",
                                 "update_first_copy",
                                 "update_two_writes",
                                 "flush_wrong_token",
                                 "flush_first_line",
                                 "move_clear_first",
                                 "log_unordered",
                                 "log_cleared_early",
                                 "log_not_replayed",
                                 "header_not_flushed",
                                 "leak_new_level",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kResize[] = {"inplace", "traditional", nullptr};
constexpr const char* kSearch[] = {"static", "dynamic", nullptr};
constexpr const char* kMovement[] = {"eager", "late", nullptr};
constexpr const char* kSlots[] = {"4", "8", "16", nullptr};
constexpr const char* kLayout[] = {"8x8", "16x15", "auto", nullptr};

enum Key {
  kTop,
  kSlotCount,
  kLayoutName,
  kAutoExpand,
  kOpportunistic,
  kResizeName,
  kB2t,
  kSearchName,
  kMove,
  kBug,
  kKeys
};
constexpr OptionSpec kSpecs[kKeys] = {
    {"top", nullptr, 2, uint64_t{1} << 28, kPowerOfTwo},
    {"slots", kSlots},
    {"layout", kLayout},
    {"auto_expand", kSwitch},
    {"opportunistic", kSwitch},
    {"resize", kResize},
    {"b2t", kSwitch},
    {"search", kSearch},
    {"movement", kMovement},
    {"bug", kBugs},
};

}  // namespace

const char* const kOptionLines[] = {
    "top=4|2|8|16|...: initial number of top-level buckets, a power of two",
    "slots=4|8|16: slots of a bucket",
    "layout=auto|16x15|8x8: bytes of key and value; 16x15 puts two slots in a line, 8x8 packs slots across lines",
    "auto_expand=on|off: an insert that finds no place expands the table and tries again (off: FULL)",
    "opportunistic=on|off: update without a log where the bucket has an empty slot",
    "resize=inplace|traditional: rehash one level of three, or the whole table into a new one (Level-Trad)",
    "b2t=on|off: bottom-to-top movement",
    "search=dynamic|static: probe the fuller level first, or always the top level",
    "movement=eager|late: try to move before going down a level (the paper's text), or once both levels are full",
    "bug=none|insert_top_unordered|insert_bottom_unordered|insert_after_move_unordered|move_unordered|b2t_unordered|"
    "update_unordered|rehash_clear_first|expand_capacity_first|expand_uninitialised|shrink_two_pointers|"
    "erase_first_copy|update_first_copy|update_two_writes|flush_wrong_token|flush_first_line|move_clear_first|"
    "log_unordered|log_cleared_early|log_not_replayed|header_not_flushed|leak_new_level: a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*top=*/4,    /*slots=*/0, /*layout=*/2, /*auto_expand=*/1, /*opportunistic=*/1,
                            /*resize=*/0, /*b2t=*/1,   /*search=*/1, /*movement=*/0,    /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "level", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  const bool wide = chosen[kLayoutName] == 1 || (chosen[kLayoutName] == 2 && config.key_size != 8);
  if (wide && (config.key_size != 16 || config.value_size == 0 || config.value_size > 15)) {
    return BadConfig(config, "layout 16x15 takes keys of 16 bytes and values of 1 to 15 bytes, not %u and %u",
                     config.key_size, config.value_size);
  }
  if (!wide && (config.key_size != 8 || config.value_size != 8)) {
    return BadConfig(config, "layout 8x8 takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .opportunistic = IsOn(chosen[kOpportunistic]),
                 .traditional = chosen[kResizeName] == 1,
                 .b2t = IsOn(chosen[kB2t]),
                 .dynamic_search = chosen[kSearchName] == 1,
                 .late_movement = chosen[kMove] == 1,
                 .auto_expand = IsOn(chosen[kAutoExpand]),
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .wide = wide,
                 .slots = static_cast<uint8_t>(4u << chosen[kSlotCount]),
                 .top_log2 = static_cast<uint8_t>(std::countr_zero(chosen[kTop])),
                 .key_size = static_cast<uint8_t>(config.key_size),
                 .value_size = static_cast<uint8_t>(config.value_size)};
  return POWERCUT_OK;
}

}  // namespace powercut::level
