#include "targets/dash/options.h"

#include <bit>
#include <iterator>

#include "targets/common/options.h"

namespace powercut::dash {
namespace {

constexpr const char* kBugs[] = {"none",
                                 "clean_not_persisted",
                                 "version_not_persisted",
                                 "word_before_record",
                                 "word_not_flushed",
                                 "membership_apart",
                                 "erase_not_flushed",
                                 "displace_clear_first",
                                 "displace_refill_at_once",
                                 "directory_not_flushed",
                                 "split_published_early",
                                 "split_cleared_early",
                                 "split_not_finished",
                                 "split_states_swapped",
                                 "depth_not_flushed",
                                 "overflow_trusted",
                                 "duplicates_kept",
                                 "duplicate_not_flushed",
                                 "locks_kept",
                                 "close_without_writeback",
                                 "leak_new_segment",
                                 nullptr};
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

constexpr const char* kRecovery[] = {"lazy", "eager", nullptr};

enum Key {
  kBuckets,
  kStash,
  kSlots,
  kDepth,
  kBalance,
  kDisplacement,
  kFingerprints,
  kOverflow,
  kRecoveryName,
  kVersions,
  kBug,
  kKeys
};
constexpr OptionSpec kSpecs[kKeys] = {
    {"buckets", nullptr, 4, 64, kPowerOfTwo},
    {"stash", nullptr, 0, 4},
    {"slots", nullptr, 1, 14},
    {"depth", nullptr, 0, 16},
    {"balance", kSwitch},
    {"displacement", kSwitch},
    {"fingerprints", kSwitch},
    {"overflow", kSwitch},
    {"recovery", kRecovery},
    {"versions", nullptr, 1, 255},
    {"bug", kBugs},
};

}  // namespace

const char* const kOptionLines[] = {
    "buckets=4|8|16|64|...: normal buckets of a segment, a power of two (the authors' code: 64)",
    "stash=2|0|1|4|...: stash buckets of a segment, at most 4",
    "slots=14|4|2|...: slots of a bucket that are used; a bucket of 256 bytes has 14",
    "depth=0|1|3|...: global depth at the start",
    "balance=on|off: insert into the less loaded of two buckets, or into the first one that has room",
    "displacement=on|off: move a record to its other bucket where both buckets are full",
    "fingerprints=on|off: compare keys only where the fingerprint agrees",
    "overflow=on|off: ask the overflow metadata which stash bucket to search, or search all",
    "recovery=lazy|eager: recover a segment when an operation first writes to it, or all of them at open",
    "versions=255|1|2|...: largest global version; after it every segment's version is reset",
    "bug=none|clean_not_persisted|version_not_persisted|word_before_record|word_not_flushed|membership_apart|"
    "erase_not_flushed|displace_clear_first|displace_refill_at_once|directory_not_flushed|split_published_early|"
    "split_cleared_early|split_not_finished|split_states_swapped|depth_not_flushed|overflow_trusted|duplicates_kept|"
    "duplicate_not_flushed|locks_kept|close_without_writeback|leak_new_segment: a planted bug",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {
      /*buckets=*/4,      /*stash=*/2,   /*slots=*/14,   /*depth=*/0,    /*balance=*/1,
      /*displacement=*/1, /*fingers=*/1, /*overflow=*/1, /*recovery=*/0, /*versions=*/255,
      /*bug=*/0};
  bool hardened = false;
  const powercut_status status = ReadOptions(config, "dash", kSpecs, chosen, &hardened);
  if (status != POWERCUT_OK) return status;
  if (config.key_size != 8 || config.value_size != 8) {
    return BadConfig(config, "dash takes keys and values of 8 bytes, not %u and %u", config.key_size,
                     config.value_size);
  }
  *out = Options{.hardened = hardened,
                 .balance = IsOn(chosen[kBalance]),
                 .displacement = IsOn(chosen[kDisplacement]),
                 .fingerprints = IsOn(chosen[kFingerprints]),
                 .overflow = IsOn(chosen[kOverflow]),
                 .eager = chosen[kRecoveryName] == 1,
                 .bug = static_cast<Bug>(chosen[kBug]),
                 .buckets = static_cast<uint8_t>(chosen[kBuckets]),
                 .stash = static_cast<uint8_t>(chosen[kStash]),
                 .slots = static_cast<uint8_t>(chosen[kSlots]),
                 .depth = static_cast<uint8_t>(chosen[kDepth]),
                 .versions = static_cast<uint8_t>(chosen[kVersions])};
  return POWERCUT_OK;
}

}  // namespace powercut::dash
