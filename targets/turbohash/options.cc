#include "targets/turbohash/options.h"

#include <bit>
#include <iterator>

#include "targets/common/options.h"
#include "targets/turbohash/table.h"

namespace powercut::turbohash {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "insert_meta_first",
                                 "reuse_meta_first",
                                 "update_meta_first",
                                 "flush_first_line",
                                 "tag_after_meta",
                                 "update_clear_first",
                                 "update_set_first",
                                 "erase_clears_valid",
                                 "expand_publish_first",
                                 "gc_publish_first",
                                 "version_before_set",
                                 "count_after_version",
                                 "set_in_place",
                                 "old_freed_first",
                                 "empty_buckets_skipped",
                                 "shard_not_swept",
                                 "directory_not_flushed",
                                 "item_not_flushed",
                                 "item_not_logged",
                                 "item_log_late",
                                 "item_freed_first",
                                 "item_log_outlives_shard",
                                 "item_log_one_write",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kTags[] = {"scalar", "avx2", "avx512", "auto", nullptr};  // the order of Tags, then auto
constexpr const char* kItems[] = {"auto", "pointer", nullptr};
constexpr const char* kGc[] = {"manual", "auto", nullptr};

enum Key { kShards, kBuckets, kScope, kTagKind, kItemKind, kGcKind, kBug, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {
    {"shards", nullptr, 1, uint64_t{1} << 20, kPowerOfTwo},
    {"buckets", nullptr, 1, uint64_t{1} << 16, kPowerOfTwo},
    {"scope", nullptr, 1, 64},
    {"tags", kTags},
    {"items", kItems},
    {"gc", kGc},
    {"bug", kBugs},
};
constexpr uint64_t kAutoTags = 3;

}  // namespace

const char* const kOptionLines[] = {
    "shards=2|1|4|8|...: number of shards, a power of two",
    "buckets=2|1|4|16|...: initial number of buckets of a shard, a power of two",
    "scope=16|1|2|4|8|...: most buckets that a probe visits",
    "tags=auto|scalar|avx2|avx512: how tags are compared; auto takes the widest kind that the CPU has",
    "items=auto|pointer: auto keeps keys and values of at most 8 bytes in the slot; else the slot holds hash and "
    "pointer",
    "gc=auto|manual: an insert that finds no place in a shard with many deleted items rewrites it at its size, or "
    "doubles it always",
    "bug=none|insert_meta_first|reuse_meta_first|update_meta_first|flush_first_line|tag_after_meta|update_clear_first|"
    "update_set_first|erase_clears_valid|expand_publish_first|gc_publish_first|"
    "version_before_set|count_after_version|set_in_place|old_freed_first|empty_buckets_skipped|shard_not_swept|"
    "directory_not_flushed|item_not_flushed|item_not_logged|item_log_late|item_freed_first|item_log_outlives_shard|"
    "item_log_one_write: a planted bug",
    nullptr};

powercut_status Table::ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {/*shards=*/2, /*buckets=*/2, /*scope=*/16, kAutoTags,
                            /*items=*/0,  /*gc=*/1,      /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "turbohash", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  const Tags tags = chosen[kTagKind] == kAutoTags ? BestTags() : static_cast<Tags>(chosen[kTagKind]);
  if (!HasTags(tags)) {
    return BadConfig(config, "this CPU cannot do tags=%s; tags=auto takes what it can do", kTags[chosen[kTagKind]]);
  }
  if (config.key_size == 0 || config.key_size > kMostKey || config.value_size == 0 || config.value_size > kMostValue) {
    return BadConfig(config, "turbohash takes keys of 1 to %u bytes and values of 1 to %u, not %u and %u", kMostKey,
                     kMostValue, config.key_size, config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .pointer = chosen[kItemKind] == 1 || config.key_size > 8 || config.value_size > 8,
                 .auto_gc = chosen[kGcKind] == 1,
                 .tags = tags,
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .shards_log2 = static_cast<uint8_t>(std::countr_zero(chosen[kShards])),
                 .buckets_log2 = static_cast<uint8_t>(std::countr_zero(chosen[kBuckets])),
                 .scope = static_cast<uint8_t>(chosen[kScope]),
                 .key_size = config.key_size,
                 .value_size = config.value_size};
  return POWERCUT_OK;
}

}  // namespace powercut::turbohash
