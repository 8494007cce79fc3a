/* A library of this repository behind powercut's target ABI; compiled once for each, with -DLIBRARY=ledger. */
#include <powercut/target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/ledger.h"
#include "../src/settings.h"

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define QUOTED(name) #name
#define QUOTE(name) QUOTED(name)
#define CALL(function) JOIN(LIBRARY, function)

typedef LIBRARY library_pool;
typedef CALL(_slot) library_slot;

struct powercut_table {
  library_pool* pool;
};

enum { kSlots = 16, kKey = 8, kValue = 8 };

static powercut_status target_traits(const powercut_config* config, powercut_traits* out) {
  if (config->option_count != 0 || config->key_size != kKey || config->value_size != kValue) {
    if (config->error != NULL) {
      snprintf(config->error, config->error_size, "keys have %d bytes and values %d; there are no options", kKey,
               kValue);
    }
    return POWERCUT_BAD_CONFIG;
  }
  memset(out, 0, sizeof *out);
  out->copy_bound = 1;
  return POWERCUT_OK;
}

static powercut_status target_format(powercut_pool pool, const powercut_config* config) {
  (void)config;
  if (pool.size < sizeof(library_pool)) return POWERCUT_FULL;
  CALL(_format)((library_pool*)pool.base);
  return POWERCUT_OK;
}

static powercut_status target_open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
  (void)config;
  library_pool* root = (library_pool*)pool.base;
  if (!CALL(_is_formatted)(root)) return POWERCUT_NOT_FORMATTED;
  powercut_table* table = (powercut_table*)malloc(sizeof *table);
  if (table == NULL) return POWERCUT_FULL;
  table->pool = root;
  *out = table;
  return POWERCUT_OK;
}

static powercut_status target_insert(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  return CALL(_insert)(table->pool, key.data, value.data) ? POWERCUT_OK : POWERCUT_FULL;
}

static powercut_status target_update(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  return CALL(_update)(table->pool, key.data, value.data) ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

static powercut_status target_erase(powercut_table* table, powercut_bytes key) {
  return CALL(_erase)(table->pool, key.data) ? POWERCUT_OK : POWERCUT_NOT_FOUND;
}

static powercut_status target_lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity,
                                     size_t* size) {
  const library_slot* slot = CALL(_find)(table->pool, key.data);
  if (slot == NULL) return POWERCUT_NOT_FOUND;
  *size = kValue;
  memcpy(value, CALL(_value)(slot), capacity < kValue ? capacity : kValue);
  return POWERCUT_OK;
}

static uint64_t target_regions(powercut_table* table) {
  (void)table;
  return kSlots;
}

static int told(const library_slot* slot, powercut_item_fn item, void* context) {
  const powercut_bytes key = {slot->key, kKey}, value = {CALL(_value)(slot), kValue};
  return item(context, key, value);
}

static powercut_status target_walk(powercut_table* table, uint64_t region, powercut_item_fn item, void* context) {
  const library_slot* slot = &table->pool->slots[region];
  if (slot->state != 0) told(slot, item, context);
  return POWERCUT_OK;
}

static powercut_status target_copies(powercut_table* table, powercut_bytes key, powercut_item_fn item, void* context) {
  for (const library_slot* slot = table->pool->slots; slot < table->pool->slots + kSlots; slot++) {
    if (slot->state != 0 && memcmp(slot->key, key.data, kKey) == 0 && told(slot, item, context) != 0) break;
  }
  return POWERCUT_OK;
}

static void target_close(powercut_table* table) { free(table); }

const powercut_target* powercut_target_entry(uint32_t abi) {
  static const char* const variants[] = {"default", NULL};
  static const char* const none[] = {NULL};
  static const powercut_target target = {
      .abi = POWERCUT_TARGET_ABI,
      .name = QUOTE(LIBRARY),
      .summary = "from src/" QUOTE(LIBRARY) ".c",
      .paper = "none",
      .variants = variants,
      .options = none,
      .commands = none,
      .traits = target_traits,
      .format = target_format,
      .open = target_open,
      .insert = target_insert,
      .update = target_update,
      .erase = target_erase,
      .lookup = target_lookup,
      .copies = target_copies,
      .regions = target_regions,
      .walk = target_walk,
      .close = target_close,
  };
  return abi == POWERCUT_TARGET_ABI ? &target : NULL;
}
