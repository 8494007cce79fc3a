// The patterns map behind the target ABI.
#include "targets/patterns/guard.h"
#include "targets/patterns/map.h"

namespace {

using powercut::patterns::Bug;
using powercut::patterns::Entry;
using powercut::patterns::Guarded;
using powercut::patterns::Map;
using powercut::patterns::Options;
using powercut::patterns::Pattern;

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
    .variants = powercut::patterns::kVariants,
    .options = powercut::patterns::kOptionLines,
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
};

}  // namespace

extern "C" const powercut_target* powercut_target_entry(uint32_t abi) {
  return abi == POWERCUT_TARGET_ABI ? &kTarget : nullptr;
}
