#include "targets/path/options.h"

#include <bit>

#include "targets/common/options.h"

namespace powercut::path {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "insert_token_first",
                                 "flush_first_line",
                                 "erase_not_flushed",
                                 "update_two_writes",
                                 "log_unordered",
                                 "log_cleared_early",
                                 "log_not_replayed",
                                 "resize_publish_early",
                                 "rehash_clear_first",
                                 "resize_free_first",
                                 "leak_new_tree",
                                 "header_not_flushed",
                                 nullptr};
constexpr const char* kUpdates[] = {"logged", "atomic", nullptr};
constexpr const char* kPackings[] = {"levels", "subtrees", nullptr};
constexpr const char* kPaths[] = {"apart", "anywhere", nullptr};

enum Key { kLeaves, kLevels, kPathsName, kPacking, kUpdate, kAutoExpand, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {{"leaves", nullptr, 2, uint64_t{1} << 30, kPowerOfTwo},
                                      {"levels", nullptr, 1, 31},
                                      {"paths", kPaths},
                                      {"packing", kPackings},
                                      {"update", kUpdates},
                                      {"auto_expand", kSwitch},
                                      {"bug", kBugs}};

}  // namespace

const char* const kOptionLines[] = {
    "leaves=8|2|4|32|...: initial number of cells that are addressed by hashing, a power of two",
    "levels=3|1|2|5|31|...: levels of the inverted tree that are reserved (path shortening), at most all of them",
    "paths=apart|anywhere: each hash function addresses its half of the leaves, or both address all of them",
    "packing=levels|subtrees: cells lie level by level, or two siblings and the cell above them together",
    "update=logged|atomic: the undo log, or one 8-byte store (values of 8 bytes only)",
    "auto_expand=on|off: an insert that finds no place doubles the tree and tries again (off: FULL)",
    "bug=none|insert_token_first|flush_first_line|erase_not_flushed|update_two_writes|log_unordered|log_cleared_early|"
    "log_not_replayed|resize_publish_early|rehash_clear_first|resize_free_first|leak_new_tree|header_not_flushed: "
    "a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*leaves=*/8, /*levels=*/3,      /*paths=*/0, /*packing=*/0,
                            /*update=*/0, /*auto_expand=*/1, /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "path", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (!TokenBucket::Serves(config.key_size, config.value_size)) {
    return BadConfig(config,
                     "path takes keys and values of 8 bytes, or keys of 16 bytes and values of 1 to 15, not %u and %u",
                     config.key_size, config.value_size);
  }
  if (chosen[kUpdate] == 1 && config.key_size != 8) {
    return BadConfig(config, "option update=atomic wants keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  *out = Options{.auto_expand = IsOn(chosen[kAutoExpand]),
                 .apart = chosen[kPathsName] == 0,
                 .packed = chosen[kPacking] == 1,
                 .update = static_cast<InPlace>(chosen[kUpdate]),
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .leaves_log2 = static_cast<uint8_t>(std::countr_zero(chosen[kLeaves])),
                 .levels = static_cast<uint8_t>(chosen[kLevels]),
                 .key_size = static_cast<uint8_t>(config.key_size),
                 .value_size = static_cast<uint8_t>(config.value_size)};
  return POWERCUT_OK;
}

}  // namespace powercut::path
