#include "targets/cmap/options.h"

#include "targets/common/options.h"

namespace powercut::cmap {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "node_unflushed",
                                 "head_unflushed",
                                 "unlink_unflushed",
                                 "free_before_unlink",
                                 "replace_two_stores",
                                 "assign_unlogged",
                                 "size_outside",
                                 "segment_uninitialised",
                                 "segment_unflushed",
                                 "bucket_count_unordered",
                                 "flag_first",
                                 "unlogged",
                                 "log_unordered",
                                 "log_cleared_early",
                                 "log_not_replayed",
                                 "no_sweep",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kUpdates[] = {"assign", "replace", nullptr};
constexpr const char* kSizes[] = {"recount", "logged", nullptr};

enum Key { kFirstBlock, kUpdate, kSize, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {
    {"first_block", nullptr, 2, 8},
    {"update", kUpdates},
    {"size", kSizes},
    {"bug", kBugs},
};

}  // namespace

const char* const kOptionLines[] = {
    "first_block=2|3|4|8|...: segments 1 to first_block - 1 share one block (8 in libpmemobj-cpp)",
    "update=assign|replace: overwrite the value in place, under the log where it has several words, or put a new node "
    "in the place of the old one",
    "size=recount|logged: count the items at open, or keep their number in the transaction of each insert and erase",
    "bug=none|node_unflushed|head_unflushed|unlink_unflushed|free_before_unlink|replace_two_stores|assign_unlogged|"
    "size_outside|segment_uninitialised|segment_unflushed|bucket_count_unordered|flag_first|unlogged|"
    "log_unordered|log_cleared_early|log_not_replayed|no_sweep: a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*first_block=*/2, /*update=*/0, /*size=*/0, /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "cmap", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (config.key_size == 0 || config.key_size > 64 || config.value_size == 0 || config.value_size > 1024) {
    return BadConfig(config, "cmap takes keys of 1 to 64 bytes and values of 1 to 1024 bytes, not %u and %u",
                     config.key_size, config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .replace = chosen[kUpdate] == 1,
                 .logged_size = chosen[kSize] == 1,
                 .first_block = static_cast<uint8_t>(chosen[kFirstBlock]),
                 .key_size = static_cast<uint8_t>(config.key_size),
                 .value_size = static_cast<uint16_t>(config.value_size),
                 .bug = static_cast<Bug>(chosen[kBug])};
  return POWERCUT_OK;
}

}  // namespace powercut::cmap
