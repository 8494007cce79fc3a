// Level hashing behind the target ABI.
#include <cstdio>

#include "targets/common/options.h"
#include "targets/level/table.h"

namespace {

using powercut::level::Item;
using powercut::level::Level;
using powercut::level::Options;
using powercut::level::Table;

Table* Of(powercut_table* table) { return reinterpret_cast<Table*>(table); }

// Checked here, once: inside the table every key has the size of the layout.
bool ToItem(const Table& table, powercut_bytes key, powercut_bytes value, Item* item) {
  if (key.size != table.options().key_size || value.size > table.options().value_size) return false;
  std::memcpy(item->bytes, key.data, key.size);
  if (value.size != 0) std::memcpy(item->bytes + key.size, value.data, value.size);
  return true;
}

powercut_status Traits(const powercut_config* config, powercut_traits* out) {
  Options options;
  const powercut_status status = ParseOptions(*config, &options);
  if (status != POWERCUT_OK) return status;
  *out = powercut_traits{};
  out->copy_bound = 2;
  out->copy_citation =
      "Level hashing (OSDI'18), 3.3(2)b: \"the hash table contains two duplicate key-value items, which however does "
      "not impact on the data consistency\"";
  out->notes = "one thread; insert does not look for the key (the paper inserts unique keys)";
  // A fresh file is zeroes already. Without that, format would write every bucket's header a second time, and every
  // entry of the allocator.
  out->needs_zeroed_pool = 1;
  return POWERCUT_OK;
}

powercut_status Format(powercut_pool pool, const powercut_config* config) {
  Options options;
  const powercut_status status = ParseOptions(*config, &options);
  return status == POWERCUT_OK ? Table::Format(pool, options) : status;
}

powercut_status Open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
  Options options;
  const powercut_status status = ParseOptions(*config, &options);
  return status == POWERCUT_OK ? Table::Open(pool, options, reinterpret_cast<Table**>(out)) : status;
}

powercut_status Insert(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  Item item;
  return ToItem(*Of(table), key, value, &item) ? Of(table)->Insert(item) : POWERCUT_UNSUPPORTED;
}

powercut_status Update(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  Item item;
  return ToItem(*Of(table), key, value, &item) ? Of(table)->Update(item) : POWERCUT_UNSUPPORTED;
}

powercut_status Erase(powercut_table* table, powercut_bytes key) {
  Item item;
  return ToItem(*Of(table), key, {}, &item) ? Of(table)->Erase(item) : POWERCUT_NOT_FOUND;
}

powercut_status Lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity, size_t* size) {
  Item item;
  if (!ToItem(*Of(table), key, {}, &item)) return POWERCUT_NOT_FOUND;
  const uint8_t* found = nullptr;
  const powercut_status status = Of(table)->Lookup(item, &found);
  if (status != POWERCUT_OK) return status;
  *size = Of(table)->options().value_size;
  std::memcpy(value, found, capacity < *size ? capacity : *size);
  return POWERCUT_OK;
}

powercut_status Maintain(powercut_table* table, const char* command) {
  if (std::strcmp(command, "expand") == 0) return Of(table)->Expand();
  if (std::strcmp(command, "shrink") == 0) return Of(table)->Shrink();
  return POWERCUT_UNSUPPORTED;
}

int Report(const Table& table, const uint8_t* slot, powercut_item_fn report, void* context) {
  const Options& options = table.options();
  return report(context, {slot, options.key_size}, {slot + options.key_size, options.value_size});
}

powercut_status Copies(powercut_table* table, powercut_bytes key, powercut_item_fn report, void* context) {
  Item item;
  if (!ToItem(*Of(table), key, {}, &item)) return POWERCUT_OK;
  const Table& self = *Of(table);
  Of(table)->ForEachCopy(item, [&](const auto& place) {
    return Report(self, self.geometry().Slot(place.bucket, place.slot), report, context);
  });
  return POWERCUT_OK;
}

uint64_t Regions(powercut_table* table) { return Of(table)->regions(); }

powercut_status Walk(powercut_table* table, uint64_t region, powercut_item_fn report, void* context) {
  const Table& self = *Of(table);
  const Level* level = nullptr;
  uint64_t index = 0;
  uint8_t* bucket = self.RegionBucket(region, &level, &index);
  if (bucket == nullptr) return POWERCUT_OK;
  for (uint32_t rest = self.geometry().LoadTokens(bucket) & self.geometry().full(); rest != 0; rest &= rest - 1) {
    const auto slot = static_cast<uint32_t>(std::countr_zero(rest));
    if (Report(self, self.geometry().Slot(bucket, slot), report, context) != 0) break;
  }
  return POWERCUT_OK;
}

powercut_status Blocks(powercut_table* table, powercut_block_fn report, void* context) {
  bool stopped = false;
  const bool sound = Of(table)->allocator().ForEach([&](uint64_t offset, uint64_t size) {
    if (!stopped && report(context, offset, size) != 0) stopped = true;
  });
  return sound ? POWERCUT_OK : POWERCUT_CORRUPT;
}

int Owner(powercut_table* table, uint64_t offset) { return Of(table)->Reaches(offset) ? 1 : 0; }

powercut_status Verify(powercut_table* table, uint64_t region, char* message, size_t size) {
  return Of(table)->Verify(region, message, size);
}

void Close(powercut_table* table) { delete Of(table); }

constexpr const char* kCommands[] = {"expand", "shrink", nullptr};

constexpr powercut_target kTarget = {
    .abi = POWERCUT_TARGET_ABI,
    .name = "level",
    .summary = "Level hashing: two levels that share buckets, log-free but for updates of full buckets",
    .paper = "Zuo, Hua, Wu: Write-Optimized and High-Performance Hashing Index Scheme for Persistent Memory, OSDI 2018",
    .variants = powercut::kVariants,
    .options = powercut::level::kOptionLines,
    .commands = kCommands,
    .traits = Traits,
    .format = Format,
    .open = Open,
    .insert = Insert,
    .update = Update,
    .erase = Erase,
    .lookup = Lookup,
    .maintain = Maintain,
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
