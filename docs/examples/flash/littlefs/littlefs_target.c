/* littlefs behind powercut's target ABI: a key is a file of the root folder, its value is the file's content.
 *
 * The device is NOR flash, where littlefs is handed the driver of powercut/nor_driver.h, or a block device with a
 * cache. */
#include <powercut/block.h>
#include <powercut/nor_driver.h>
#include <powercut/target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lfs.h"

enum { kMostKey = 16, kMostValue = 1024, kName = 2 * kMostKey + 1 };

typedef struct options {
  powercut_nor_part part;
  int block;      /* a block device of sectors of 512 bytes, in the place of a part */
  uint32_t cache; /* bytes of littlefs's caches */
} options;

struct powercut_table {
  powercut_driver driver;
  powercut_block block;
  struct lfs_config config;
  lfs_t lfs;
  options options;
};

static powercut_status refuse(const powercut_config* config, const char* sentence) {
  if (config->error != NULL) snprintf(config->error, config->error_size, "littlefs: %s", sentence);
  return POWERCUT_BAD_CONFIG;
}

static powercut_status read_options(const powercut_config* config, options* out) {
  static const char* const own[] = {"device", "cache", NULL};
  memset(out, 0, sizeof *out);
  out->part = powercut_nor_default();
  out->part.sector = 512;
  out->cache = 32;
  const powercut_status status = powercut_driver_configure(config, "littlefs", own, &out->part);
  if (status != POWERCUT_OK) return status;
  for (size_t i = 0; i < config->option_count; i++) {
    const char *const key = config->options[i].key, *const value = config->options[i].value;
    if (strcmp(key, "device") == 0) {
      out->block = strcmp(value, "block") == 0;
      if (!out->block && strcmp(value, "nor") != 0) return refuse(config, "the option 'device' is nor or block.");
    } else if (strcmp(key, "cache") == 0) {
      if (!powercut_driver_number(value)) return refuse(config, "the option 'cache' is a number of bytes.");
      out->cache = (uint32_t)strtoul(value, NULL, 10);
    }
  }
  if (out->block) out->part.sector = out->part.unit = out->cache = 512;
  if (out->cache == 0 || out->cache % out->part.unit != 0 || out->part.sector % out->cache != 0) {
    return refuse(config, "a cache is of whole units, and a sector is of whole caches.");
  }
  if (out->part.sector < 128) return refuse(config, "a sector has 128 bytes at least.");
  if (config->key_size > kMostKey || config->value_size > kMostValue) {
    return refuse(config, "keys have up to 16 bytes, and values up to 1024.");
  }
  return POWERCUT_OK;
}

/* The driver on NOR flash. */
static int nor_result(int result) { return result == -EBADMSG ? LFS_ERR_CORRUPT : result != 0 ? LFS_ERR_IO : 0; }

static int nor_read(const struct lfs_config* c, lfs_block_t block, lfs_off_t off, void* out, lfs_size_t size) {
  return nor_result(powercut_driver_read(c->context, (uint64_t)block * c->block_size + off, out, size));
}

static int nor_prog(const struct lfs_config* c, lfs_block_t block, lfs_off_t off, const void* data, lfs_size_t size) {
  return nor_result(powercut_driver_prog(c->context, (uint64_t)block * c->block_size + off, data, size));
}

static int nor_erase(const struct lfs_config* c, lfs_block_t block) {
  return nor_result(powercut_driver_erase(c->context, (uint64_t)block * c->block_size, c->block_size));
}

static int nor_sync(const struct lfs_config* c) { return nor_result(powercut_driver_sync(c->context)); }

/* The driver on a block device: a block of littlefs is a sector, and nothing is to be erased. */
static int block_read(const struct lfs_config* c, lfs_block_t block, lfs_off_t off, void* out, lfs_size_t size) {
  (void)off, (void)size; /* all of the block */
  return powercut_block_read((const powercut_block*)c->context, block, 1, out) == 0 ? 0 : LFS_ERR_IO;
}

static int block_prog(const struct lfs_config* c, lfs_block_t block, lfs_off_t off, const void* data, lfs_size_t size) {
  (void)off, (void)size;
  return powercut_block_write((const powercut_block*)c->context, block, 1, data, 0) == 0 ? 0 : LFS_ERR_IO;
}

static int block_erase(const struct lfs_config* c, lfs_block_t block) { return (void)c, (void)block, 0; }

static int block_sync(const struct lfs_config* c) {
  powercut_block_flush((const powercut_block*)c->context);
  return 0;
}

static powercut_status start(powercut_table* table, powercut_pool pool, const powercut_config* config) {
  memset(table, 0, sizeof *table);
  const powercut_status status = read_options(config, &table->options);
  if (status != POWERCUT_OK) return status;
  struct lfs_config* const c = &table->config;
  const powercut_nor_part* const part = &table->options.part;
  powercut_driver_open(&table->driver, pool, *part);
  table->block = powercut_block_in(pool, 512, 1, 1);
  *c = (struct lfs_config){
      .context = &table->driver, .read = nor_read, .prog = nor_prog, .erase = nor_erase, .sync = nor_sync};
  if (table->options.block) {
    c->context = &table->block;
    c->read = block_read, c->prog = block_prog, c->erase = block_erase, c->sync = block_sync;
  }
  c->read_size = c->prog_size = part->unit;
  c->block_size = part->sector;
  c->block_count = (lfs_size_t)(table->options.block ? table->block.sectors : table->driver.nor.sectors);
  c->block_cycles = -1; /* no wear levelling: a metadata block stays where it is */
  c->cache_size = table->options.cache;
  c->lookahead_size = 16;
  return POWERCUT_OK;
}

static powercut_status status_of(int error) {
  if (error >= 0) return POWERCUT_OK;
  if (error == LFS_ERR_NOENT) return POWERCUT_NOT_FOUND;
  /* LFS_ERR_NAMETOOLONG: the metadata blocks have no room for one more file. */
  const int full = error == LFS_ERR_NOSPC || error == LFS_ERR_NOMEM || error == LFS_ERR_NAMETOOLONG;
  return full ? POWERCUT_FULL : POWERCUT_CORRUPT;
}

static void name_of(powercut_bytes key, char* out) {
  for (size_t i = 0; i < key.size; i++) {
    const uint8_t byte = ((const uint8_t*)key.data)[i];
    out[2 * i] = "0123456789abcdef"[byte >> 4];
    out[2 * i + 1] = "0123456789abcdef"[byte & 15];
  }
  out[2 * key.size] = 0;
}

static powercut_status target_traits(const powercut_config* config, powercut_traits* out) {
  options unused;
  const powercut_status status = read_options(config, &unused);
  if (status != POWERCUT_OK) return status;
  memset(out, 0, sizeof *out);
  out->copy_bound = 1;
  return POWERCUT_OK;
}

static powercut_status target_format(powercut_pool pool, const powercut_config* config) {
  powercut_table table;
  const powercut_status status = start(&table, pool, config);
  return status != POWERCUT_OK ? status : status_of(lfs_format(&table.lfs, &table.config));
}

static powercut_status target_open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
  powercut_table* table = malloc(sizeof *table);
  if (table == NULL) return POWERCUT_FULL;
  powercut_status status = start(table, pool, config);
  if (status == POWERCUT_OK) {
    const int error = lfs_mount(&table->lfs, &table->config);
    status = error == LFS_ERR_CORRUPT || error == LFS_ERR_INVAL ? POWERCUT_NOT_FORMATTED : status_of(error);
  }
  if (status == POWERCUT_OK) {
    *out = table;
  } else {
    free(table);
  }
  return status;
}

/* Bytes of a key's file. littlefs makes a new file in a commit of its own, before its content is written: a file that
 * is empty is no key yet. */
static lfs_ssize_t bytes_of(powercut_table* table, const char* name) {
  struct lfs_info info;
  const int error = lfs_stat(&table->lfs, name, &info);
  if (error < 0) return error;
  return info.size == 0 ? LFS_ERR_NOENT : (lfs_ssize_t)info.size;
}

/* A write is over when the file is closed: its content is on the device then. */
static powercut_status target_insert(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  char name[kName];
  lfs_file_t file;
  name_of(key, name);
  int error = lfs_file_open(&table->lfs, &file, name, LFS_O_WRONLY | LFS_O_CREAT | LFS_O_TRUNC);
  if (error < 0) return status_of(error);
  const lfs_ssize_t written = lfs_file_write(&table->lfs, &file, value.data, (lfs_size_t)value.size);
  error = lfs_file_close(&table->lfs, &file);
  return status_of(written < 0 ? (int)written : error);
}

static powercut_status target_update(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  char name[kName];
  name_of(key, name);
  const lfs_ssize_t size = bytes_of(table, name);
  return size < 0 ? status_of((int)size) : target_insert(table, key, value);
}

static powercut_status target_erase(powercut_table* table, powercut_bytes key) {
  char name[kName];
  name_of(key, name);
  const lfs_ssize_t size = bytes_of(table, name);
  return status_of(size < 0 ? (int)size : lfs_remove(&table->lfs, name));
}

static powercut_status target_lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity,
                                     size_t* size) {
  char name[kName];
  uint8_t content[kMostValue];
  lfs_file_t file;
  name_of(key, name);
  lfs_ssize_t read = bytes_of(table, name);
  if (read < 0) return status_of((int)read);
  const int error = lfs_file_open(&table->lfs, &file, name, LFS_O_RDONLY);
  if (error < 0) return status_of(error);
  read = lfs_file_read(&table->lfs, &file, content, sizeof content);
  lfs_file_close(&table->lfs, &file);
  if (read < 0) return status_of((int)read);
  *size = (size_t)read;
  memcpy(value, content, capacity < *size ? capacity : *size);
  return POWERCUT_OK;
}

static powercut_status target_copies(powercut_table* table, powercut_bytes key, powercut_item_fn item, void* context) {
  uint8_t content[kMostValue];
  powercut_bytes value = {content, 0};
  const powercut_status status = target_lookup(table, key, content, sizeof content, &value.size);
  if (status == POWERCUT_OK) item(context, key, value);
  return status == POWERCUT_NOT_FOUND ? POWERCUT_OK : status;
}

static void target_close(powercut_table* table) {
  lfs_unmount(&table->lfs);
  free(table);
}

powercut_status powercut_target_device(const powercut_config* config, powercut_device* out) {
  options read;
  const powercut_status status = read_options(config, &read);
  if (status != POWERCUT_OK) return status;
  *out = powercut_nor_device(&read.part);
  if (read.block) *out = (powercut_device){.medium = POWERCUT_BLOCK, .bytes = 512, .unit = 1};
  return POWERCUT_OK;
}

const powercut_target* powercut_target_entry(uint32_t abi) {
  static const char* const variants[] = {"default", NULL};
  static const char* const lines[] = {POWERCUT_DRIVER_OPTIONS,
                                      "device=nor|block: NOR flash, or a block device with a cache",
                                      "cache=32|16|64|...: bytes of littlefs's caches", NULL};
  static const char* const none[] = {NULL};
  static const powercut_target target = {
      .abi = POWERCUT_TARGET_ABI,
      .name = "littlefs",
      .summary = "littlefs, a file for each key",
      .paper = "none",
      .variants = variants,
      .options = lines,
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
