#include "targets/patterns/options.h"

#include <iterator>

#include "targets/common/options.h"
#include "targets/patterns/map.h"

namespace powercut::patterns {
namespace {

constexpr const char* kPatterns[] = {"plain",
                                     "helping_persist",
                                     "rewritten_by_recovery",
                                     "volatile_lock",
                                     "bounded_duplicates",
                                     "undo_log",
                                     "intent",
                                     "blocks",
                                     "checked",
                                     nullptr};
constexpr const char* kBugs[] = {"none",
                                 "lost",
                                 "phantom",
                                 "stale",
                                 "redundant_flush",
                                 "redundant_fence",
                                 "never_persisted",
                                 "torn",
                                 "not_idempotent",
                                 "undeclared_duplicates",
                                 "structure",
                                 "lock_left",
                                 "wild_store",
                                 "abort",
                                 "segv",
                                 "hang",
                                 "leak",
                                 "unchecked",
                                 "swallowed",
                                 "throwing_new",
                                 "trusts_zeroes",
                                 nullptr};
static_assert(std::size(kPatterns) == static_cast<size_t>(Pattern::kCount) + 1, "one name a pattern");
static_assert(std::size(kBugs) == static_cast<size_t>(Bug::kCount) + 1, "one name a bug");

// The pattern that a bug breaks; Bug::kLost to kNeverPersisted break any.
constexpr Pattern BrokenBy(Bug bug) {
  switch (bug) {
    case Bug::kTorn:
    case Bug::kNotIdempotent:
      return Pattern::kUndoLog;
    case Bug::kUndeclaredDuplicates:
      return Pattern::kBoundedDuplicates;
    case Bug::kStructure:
      return Pattern::kRewrittenByRecovery;
    case Bug::kLockLeft:
      return Pattern::kVolatileLock;
    case Bug::kWildStore:
    case Bug::kAbort:
    case Bug::kSegv:
    case Bug::kHang:
      return Pattern::kIntent;
    case Bug::kLeak:
      return Pattern::kBlocks;
    case Bug::kUnchecked:
    case Bug::kSwallowed:
    case Bug::kThrowingNew:
    case Bug::kTrustsZeroes:
      return Pattern::kChecked;
    default:
      return Pattern::kCount;
  }
}

enum Key { kPattern, kBug, kCapacity, kUnflushed, kKeys };
constexpr OptionSpec kSpecs[kKeys] = {
    {"pattern", kPatterns}, {"bug", kBugs}, {"capacity", nullptr, 1, 4096}, {"unflushed", nullptr, 0, 65536}};

}  // namespace

const char* const kVariants[] = {"hardened", "published", nullptr};

const char* const kOptionLines[] = {
    "pattern=plain|helping_persist|rewritten_by_recovery|volatile_lock|bounded_duplicates|undo_log|intent|blocks|"
    "checked: a correct way of doing things",
    "bug=none|lost|phantom|stale|redundant_flush|redundant_fence|never_persisted|torn|not_idempotent|"
    "undeclared_duplicates|structure|lock_left|wild_store|abort|segv|hang|leak|unchecked|swallowed|throwing_new|trusts_"
    "zeroes: what to break in it",
    "capacity=64|...: number of entries",
    "unflushed=0|...: lines of notes; each operation writes the next one, while there are any, and nobody flushes or "
    "reads them",
    nullptr};

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  uint64_t chosen[kKeys] = {0, 0, 64, 0};
  const powercut_status status = ReadOptions(config, kSpecs, chosen);
  if (status != POWERCUT_OK) return status;
  if (config.variant != nullptr && *config.variant != '\0' && IndexOf(kVariants, config.variant) < 0) {
    return BadConfig(config, "patterns has no variant '%s'; it has hardened and published (the same)", config.variant);
  }
  if (config.key_size == 0 || config.key_size > sizeof(Entry::key) || config.value_size == 0 ||
      config.value_size > sizeof(Entry::value[0])) {
    return BadConfig(config, "patterns takes keys of 1 to %zu bytes and values of 1 to %zu bytes, not %u and %u",
                     sizeof(Entry::key), sizeof(Entry::value[0]), config.key_size, config.value_size);
  }
  out->pattern = static_cast<Pattern>(chosen[kPattern]);
  out->bug = static_cast<Bug>(chosen[kBug]);
  out->capacity = static_cast<uint32_t>(chosen[kCapacity]);
  out->unflushed = static_cast<uint32_t>(chosen[kUnflushed]);
  out->key_size = config.key_size;
  out->value_size = config.value_size;
  const Pattern needed = BrokenBy(out->bug);
  if (needed != Pattern::kCount && needed != out->pattern) {
    return BadConfig(config, "bug %s breaks the pattern %s; set pattern = \"%s\"", kBugs[chosen[kBug]],
                     kPatterns[static_cast<int>(needed)], kPatterns[static_cast<int>(needed)]);
  }
  return POWERCUT_OK;
}

}  // namespace powercut::patterns
