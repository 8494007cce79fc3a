// The patterns map behind the target ABI.
#include "targets/common/options.h"
#include "targets/common/target_entry.h"
#include "targets/patterns/guard.h"
#include "targets/patterns/map.h"

namespace powercut::patterns {
namespace {

constexpr const char* kVariants[] = {"hardened", "published", nullptr};

constexpr OptionTable<Options> kOptions({
    {EnumLine<Pattern, "pattern", "a correct way of doing things">(), Named<&Options::pattern>()},
    {EnumLine<Bug, "bug", "what to break in it">(), Named<&Options::bug>()},
    {"capacity=64|...: number of entries", Number<&Options::capacity>(1, 4096)},
    {"unflushed=0|...: lines of notes; each operation writes the next one, while there are any, and nobody flushes or "
     "reads them",
     Number<&Options::unflushed>(0, 65536)},
});

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
    case Bug::kNone:
    case Bug::kLost:
    case Bug::kPhantom:
    case Bug::kStale:
    case Bug::kRedundantFlush:
    case Bug::kRedundantFence:
    case Bug::kNeverPersisted:
    case Bug::kCount:
      break;
  }
  return Pattern::kCount;
}

powercut_status ParseOptions(const powercut_config& config, Options* out) {
  const powercut_status status = kOptions.Read(config, out);
  if (status != POWERCUT_OK) return status;
  if (config.variant != nullptr && *config.variant != '\0' && IndexOf(kVariants, config.variant) < 0) {
    return BadConfig(config, "patterns has no variant '%s'; it has hardened and published (the same)", config.variant);
  }
  if (config.key_size == 0 || config.key_size > sizeof(Entry::key) || config.value_size == 0 ||
      config.value_size > sizeof(Entry::value[0])) {
    return BadConfig(config, "patterns takes keys of 1 to %zu bytes and values of 1 to %zu bytes, not %u and %u",
                     sizeof(Entry::key), sizeof(Entry::value[0]), config.key_size, config.value_size);
  }
  const Pattern needed = BrokenBy(out->bug);
  if (needed != Pattern::kCount && needed != out->pattern) {
    return BadConfig(config, "bug %s breaks the pattern %s; set pattern = \"%s\"", NameOf(out->bug), NameOf(needed),
                     NameOf(needed));
  }
  return POWERCUT_OK;
}

Map* Of(powercut_table* table) { return reinterpret_cast<Map*>(table); }
const uint8_t* Key(powercut_table* table, powercut_bytes key) {
  return key.size == Of(table)->options().key_size ? static_cast<const uint8_t*>(key.data) : nullptr;
}
bool Fits(powercut_table* table, powercut_bytes value) { return value.size == Of(table)->options().value_size; }

powercut_status Traits(const powercut_config* config, powercut_traits* out) {
  Options options;
  const powercut_status status = ParseOptions(*config, &options);
  if (status != POWERCUT_OK) return status;
  *out = powercut_traits{};
  out->detects_damage = options.pattern == Pattern::kChecked ? 1 : 0;
  out->needs_zeroed_pool = options.pattern == Pattern::kChecked ? 0 : 1;
  out->copy_bound = options.pattern == Pattern::kBoundedDuplicates && options.bug != Bug::kUndeclaredDuplicates ? 2 : 1;
  out->copy_citation = "patterns/README.md: erase moves the last item into the hole; a cut leaves two equal copies";
  return POWERCUT_OK;
}

powercut_status Format(powercut_pool pool, const powercut_config* config) {
  Options options;
  const powercut_status status = ParseOptions(*config, &options);
  return status == POWERCUT_OK ? Map::Format(pool, options) : status;
}

powercut_status Open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
  Options options;
  const powercut_status status = ParseOptions(*config, &options);
  if (status != POWERCUT_OK) return status;
  return Guarded(options, [&] { return Map::Open(pool, options, reinterpret_cast<Map**>(out)); });
}

powercut_status Insert(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  const uint8_t* bytes = Key(table, key);
  if (bytes == nullptr || !Fits(table, value)) return POWERCUT_UNSUPPORTED;
  return Guarded(*Of(table), [&] { return Of(table)->Insert(bytes, static_cast<const uint8_t*>(value.data)); });
}

powercut_status Update(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  const uint8_t* bytes = Key(table, key);
  if (bytes == nullptr || !Fits(table, value)) return POWERCUT_UNSUPPORTED;
  return Guarded(*Of(table), [&] { return Of(table)->Update(bytes, static_cast<const uint8_t*>(value.data)); });
}

powercut_status Erase(powercut_table* table, powercut_bytes key) {
  const uint8_t* bytes = Key(table, key);
  if (bytes == nullptr) return POWERCUT_NOT_FOUND;
  return Guarded(*Of(table), [&] { return Of(table)->Erase(bytes); });
}

powercut_status Lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity, size_t* size) {
  const uint8_t* bytes = Key(table, key);
  if (bytes == nullptr) return POWERCUT_NOT_FOUND;
  return Guarded(*Of(table), [&] {
    const uint8_t* found = Of(table)->Lookup(bytes);
    if (found == nullptr) return POWERCUT_NOT_FOUND;
    *size = Of(table)->options().value_size;
    std::memcpy(value, found, capacity < *size ? capacity : *size);
    return POWERCUT_OK;
  });
}

int Report(const Map& map, const Entry& entry, powercut_item_fn report, void* context) {
  return report(context, {entry.key, map.options().key_size}, {map.Value(entry), map.options().value_size});
}

powercut_status Copies(powercut_table* table, powercut_bytes key, powercut_item_fn report, void* context) {
  const uint8_t* bytes = Key(table, key);
  if (bytes == nullptr) return POWERCUT_OK;
  const Map& map = *Of(table);
  return Guarded(map, [&] {
    for (uint64_t i = 0; i < map.options().capacity; ++i) {
      const Entry& entry = *map.entry(i);
      if (map.Matches(entry, bytes) && Report(map, entry, report, context) != 0) break;
    }
    return POWERCUT_OK;
  });
}

uint64_t Regions(powercut_table* table) { return Of(table)->regions(); }

powercut_status Walk(powercut_table* table, uint64_t region, powercut_item_fn report, void* context) {
  if (region == 0) return POWERCUT_OK;
  return Guarded(*Of(table), [&] {
    const Entry& entry = *Of(table)->entry(region - 1);
    if (Of(table)->Value(entry) != nullptr) Report(*Of(table), entry, report, context);
    return POWERCUT_OK;
  });
}

powercut_status Blocks(powercut_table* table, powercut_block_fn report, void* context) {
  bool stopped = false;
  const bool sound = Of(table)->allocator().ForEach([&](uint64_t offset, uint64_t size) {
    if (!stopped && report(context, offset, size) != 0) stopped = true;
  });
  return sound ? POWERCUT_OK : POWERCUT_CORRUPT;
}

int Owner(powercut_table* table, uint64_t offset) { return Of(table)->Owns(offset) ? 1 : 0; }

powercut_status Verify(powercut_table* table, uint64_t region, char* message, size_t size) {
  return Of(table)->Verify(region, message, size);
}

void Close(powercut_table* table) { delete Of(table); }

constexpr const char* kCommands[] = {nullptr};

constexpr powercut_target kTarget = {
    .abi = POWERCUT_TARGET_ABI,
    .name = "patterns",
    .summary = "A tiny map that follows one correct pattern, or breaks it: what the checker itself is tested on",
    .paper = "none",
    .variants = kVariants,
    .options = kOptions.lines,
    .commands = kCommands,
    .traits = Traits,
    .format = Format,
    .open = Open,
    .insert = Insert,
    .update = Update,
    .erase = Erase,
    .lookup = Lookup,
    .maintain = nullptr,
    .copies = Copies,
    .regions = Regions,
    .walk = Walk,
    .blocks = Blocks,
    .owner = Owner,
    .verify = Verify,
    .close = Close,
    .increment = nullptr,
};

}  // namespace
}  // namespace powercut::patterns

POWERCUT_TARGET_ENTRY(powercut::patterns::kTarget)
