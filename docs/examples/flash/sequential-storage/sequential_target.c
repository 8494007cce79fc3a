/* sequential-storage behind powercut's target ABI. The crate is map.rs, which calls the flash of this file. Rust is not
 * compiled through powercut's pass: all that reads or programs the device is powercut/nor_driver.h, which is. */
#include <powercut/mark.h>
#include <powercut/nor_driver.h>
#include <powercut/target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWord = 4, kPage = 128, kPages = 3, kSize = 8 }; /* as in map.rs */
enum { kDone = 0, kAbsent = 1, kFull = 2 };

/* map.rs. Each call makes the map anew. */
int map_format(void* context);
int map_fetch(void* context, const uint8_t* key, uint8_t* value);
int map_store(void* context, const uint8_t* key, const uint8_t* value);
int map_remove(void* context, const uint8_t* key);

struct powercut_table {
  powercut_driver driver;
};

/* The flash that map.rs calls. */
int flash_read(void* context, uint64_t at, uint8_t* out, size_t size) {
  return powercut_driver_read(context, at, out, size);
}

int flash_prog(void* context, uint64_t at, const uint8_t* data, size_t size) {
  const int status = powercut_driver_prog(context, at, data, size);
  /* The last word of a page says that the page is closed. */
  if (at % kPage == kPage - kWord) powercut_mark_point("page closed");
  return status;
}

int flash_erase(void* context, uint64_t at, size_t size) { return powercut_driver_erase(context, at, size); }

/* MultiwriteNorFlash: a word may be programmed again, and bits change from 1 to 0. */
static powercut_status part_of(const powercut_config* config, powercut_nor_part* part) {
  *part = powercut_nor_default();
  part->sector = kPage;
  part->unit = kWord;
  part->again = POWERCUT_NOR_BITS;
  const powercut_status status = powercut_driver_configure(config, "sequential-storage", NULL, part);
  if (status != POWERCUT_OK) return status;
  if (part->sector == kPage && part->unit == kWord && config->key_size == kSize && config->value_size == kSize) {
    return POWERCUT_OK;
  }
  if (config->error != NULL) {
    snprintf(config->error, config->error_size,
             "sequential-storage: map.rs has pages of 128 bytes, words of 4, and keys and values of 8");
  }
  return POWERCUT_BAD_CONFIG;
}

static powercut_status target_traits(const powercut_config* config, powercut_traits* out) {
  powercut_nor_part part;
  memset(out, 0, sizeof *out);
  out->copy_bound = 1;
  return part_of(config, &part);
}

static powercut_status status_of(int status) {
  if (status == kDone) return POWERCUT_OK;
  if (status == kAbsent) return POWERCUT_NOT_FOUND;
  return status == kFull ? POWERCUT_FULL : POWERCUT_CORRUPT;
}

/* The map has no step of its own when it is opened: each call mends what it finds. */
static powercut_status target_open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
  powercut_nor_part part;
  const powercut_status status = part_of(config, &part);
  if (status != POWERCUT_OK) return status;
  powercut_table* table = malloc(sizeof *table);
  if (table == NULL) return POWERCUT_FULL;
  powercut_driver_open(&table->driver, pool, part);
  if (table->driver.nor.sectors < kPages) {
    free(table);
    return POWERCUT_FULL;
  }
  *out = table;
  return POWERCUT_OK;
}

static void target_close(powercut_table* table) { free(table); }

static powercut_status target_format(powercut_pool pool, const powercut_config* config) {
  powercut_table* table;
  powercut_status status = target_open(pool, config, &table);
  if (status != POWERCUT_OK) return status;
  status = status_of(map_format(&table->driver));
  target_close(table);
  return status;
}

static powercut_status target_insert(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  return status_of(map_store(&table->driver, key.data, value.data));
}

static powercut_status target_update(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  uint8_t old[kSize];
  const int found = map_fetch(&table->driver, key.data, old);
  return found == kDone ? target_insert(table, key, value) : status_of(found);
}

/* remove_item() does not say whether there was one. */
static powercut_status target_erase(powercut_table* table, powercut_bytes key) {
  uint8_t old[kSize];
  const int found = map_fetch(&table->driver, key.data, old);
  return status_of(found == kDone ? map_remove(&table->driver, key.data) : found);
}

static powercut_status target_lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity,
                                     size_t* size) {
  uint8_t found[kSize];
  const int status = map_fetch(&table->driver, key.data, found);
  if (status != kDone) return status_of(status);
  *size = kSize;
  memcpy(value, found, capacity < kSize ? capacity : kSize);
  return POWERCUT_OK;
}

static powercut_status target_copies(powercut_table* table, powercut_bytes key, powercut_item_fn item, void* context) {
  uint8_t found[kSize];
  const int status = map_fetch(&table->driver, key.data, found);
  const powercut_bytes value = {found, kSize};
  if (status == kDone) item(context, key, value);
  return status == kAbsent ? POWERCUT_OK : status_of(status);
}

const powercut_sizes* powercut_target_sizes(void) {
  static const powercut_sizes sizes[] = {{kSize, kSize}, {0, 0}};
  return sizes;
}

powercut_status powercut_target_device(const powercut_config* config, powercut_device* out) {
  powercut_nor_part part;
  const powercut_status status = part_of(config, &part);
  if (status == POWERCUT_OK) *out = powercut_nor_device(&part);
  return status;
}

const powercut_target* powercut_target_entry(uint32_t abi) {
  static const char* const variants[] = {"default", NULL};
  static const char* const options[] = {POWERCUT_DRIVER_OPTIONS, NULL};
  static const char* const none[] = {NULL};
  static const powercut_target target = {
      .abi = POWERCUT_TARGET_ABI,
      .name = "sequential-storage",
      .summary = "The map of sequential-storage",
      .paper = "none",
      .variants = variants,
      .options = options,
      .commands = none,
      .traits = target_traits,
      .format = target_format,
      .open = target_open,
      .insert = target_insert,
      .update = target_update,
      .erase = target_erase,
      .lookup = target_lookup,
      .copies = target_copies,
      .close = target_close,
  };
  return abi == POWERCUT_TARGET_ABI ? &target : NULL;
}
