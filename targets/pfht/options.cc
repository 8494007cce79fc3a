#include "targets/pfht/options.h"

#include <bit>

#include "targets/common/options.h"

namespace powercut::pfht {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "insert_token_first",
                                 "move_token_first",
                                 "update_unordered",
                                 "flush_first_line",
                                 "move_clear_first",
                                 "stash_publish_early",
                                 "stash_free_first",
                                 "stash_cut_chain",
                                 "erase_first_copy",
                                 "update_first_copy",
                                 "update_two_writes",
                                 "log_unordered",
                                 "log_cleared_early",
                                 "log_not_replayed",
                                 "resize_publish_early",
                                 "rehash_clear_first",
                                 "leak_new_table",
                                 "header_not_flushed",
                                 nullptr};
constexpr const char* kSlots[] = {"4", "8", "16", nullptr};
constexpr const char* kUpdates[] = {"logged", "opportunistic", "atomic", nullptr};
constexpr const char* kChoices[] = {"first", "less_loaded", nullptr};

enum Key { kBuckets, kSlotCount, kStash, kChoice, kUpdate, kAutoExpand, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {{"buckets", nullptr, 2, uint64_t{1} << 28, kPowerOfTwo},
                                      {"slots", kSlots},
                                      {"stash", nullptr, 0, 50},
                                      {"choice", kChoices},
                                      {"update", kUpdates},
                                      {"auto_expand", kSwitch},
                                      {"bug", kBugs}};

}  // namespace

const char* const kOptionLines[] = {
    "buckets=8|2|4|16|...: initial number of buckets, a power of two",
    "slots=4|8|16: slots of a bucket",
    "stash=3|0|10|25|...: percent of the table's places that are in the stash, rounded up to a whole node",
    "choice=first|less_loaded: insert into the first of the two buckets that has an empty slot, or the emptier one",
    "update=logged|opportunistic|atomic: the undo log; log-free where the bucket has an empty slot; or one 8-byte "
    "store "
    "(values of 8 bytes only)",
    "auto_expand=on|off: an insert that finds the stash full doubles the table and tries again (off: FULL)",
    "bug=none|insert_token_first|move_token_first|update_unordered|flush_first_line|move_clear_first|stash_publish_"
    "early|"
    "stash_free_first|stash_cut_chain|erase_first_copy|update_first_copy|update_two_writes|log_unordered|"
    "log_cleared_early|log_not_replayed|resize_publish_early|rehash_clear_first|leak_new_table|header_not_flushed: "
    "a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*buckets=*/8, /*slots=*/0,       /*stash=*/3, /*choice=*/0,
                            /*update=*/0,  /*auto_expand=*/1, /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "pfht", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (!TokenBucket::Serves(config.key_size, config.value_size)) {
    return BadConfig(config,
                     "pfht takes keys and values of 8 bytes, or keys of 16 bytes and values of 1 to 15, not %u and %u",
                     config.key_size, config.value_size);
  }
  const auto update = static_cast<UpdateKind>(chosen[kUpdate]);
  if (update == UpdateKind::kAtomic && config.key_size != 8) {
    return BadConfig(config, "option update=atomic wants keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .auto_expand = IsOn(chosen[kAutoExpand]),
                 .update = update,
                 .choice = static_cast<Choice>(chosen[kChoice]),
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .slots = static_cast<uint8_t>(4u << chosen[kSlotCount]),
                 .buckets_log2 = static_cast<uint8_t>(std::countr_zero(chosen[kBuckets])),
                 .stash = static_cast<uint8_t>(chosen[kStash]),
                 .key_size = static_cast<uint8_t>(config.key_size),
                 .value_size = static_cast<uint8_t>(config.value_size)};
  return POWERCUT_OK;
}

}  // namespace powercut::pfht
