/* The commonest bug: a value is written, and what says that it is there becomes durable before the value is.
 *
 * A map of eight slots, each with a value of the scenario's size. With BUG the value is neither flushed nor fenced;
 * without it, both happen before the slot counts. */
#include <powercut/target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMagic = 0x4c41524745, kSlots = 8, kLine = 64 };

typedef struct {
  uint64_t commit;
  uint8_t key[kLine - sizeof(uint64_t)];
} slot_head; /* one line; the value's lines are behind it */

struct powercut_table {
  uint8_t* pool;
  size_t key_size, value_size;
};

static void write_back(const void* address) {
  __asm__ volatile("clwb %0" : "+m"(*(volatile char*)(uintptr_t)address) : : "memory");
}
static void fence(void) { __asm__ volatile("sfence" : : : "memory"); }
static void commit(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
  write_back(word);
  fence();
}

static size_t slot_size(size_t value_size) { return kLine + (value_size + kLine - 1) / kLine * kLine; }
static slot_head* slot_at(const powercut_table* table, uint64_t number) {
  return (slot_head*)(table->pool + kLine + number * slot_size(table->value_size));
}
static uint8_t* value_of(slot_head* slot) { return (uint8_t*)slot + kLine; }

static powercut_status large_traits(const powercut_config* config, powercut_traits* out) {
  if (config->option_count != 0 || config->key_size > sizeof((slot_head*)0)->key) return POWERCUT_BAD_CONFIG;
  memset(out, 0, sizeof *out);
  out->copy_bound = 1;
  return POWERCUT_OK;
}

static powercut_status large_format(powercut_pool pool, const powercut_config* config) {
  if (pool.size < kLine + kSlots * slot_size(config->value_size)) return POWERCUT_FULL;
  commit((uint64_t*)pool.base, kMagic);
  return POWERCUT_OK;
}

static powercut_status large_open(powercut_pool pool, const powercut_config* config, powercut_table** out) {
  if (*(uint64_t*)pool.base != kMagic) return POWERCUT_NOT_FORMATTED;
  powercut_table* table = malloc(sizeof *table);
  if (table == NULL) return POWERCUT_FULL;
  table->pool = pool.base;
  table->key_size = config->key_size;
  table->value_size = config->value_size;
  *out = table;
  return POWERCUT_OK;
}

static slot_head* find(const powercut_table* table, powercut_bytes key) {
  for (uint64_t i = 0; i < kSlots; ++i) {
    slot_head* slot = slot_at(table, i);
    if (slot->commit != 0 && memcmp(slot->key, key.data, key.size) == 0) return slot;
  }
  return NULL;
}

static powercut_status large_insert(powercut_table* table, powercut_bytes key, powercut_bytes value) {
  for (uint64_t i = 0; i < kSlots; ++i) {
    slot_head* slot = slot_at(table, i);
    if (slot->commit != 0) continue;
    memcpy(slot->key, key.data, key.size);
    write_back(slot);
    memcpy(value_of(slot), value.data, value.size);
#ifndef BUG
    for (size_t at = 0; at < value.size; at += kLine) write_back(value_of(slot) + at);
#endif
    fence();
    commit(&slot->commit, 1);
    return POWERCUT_OK;
  }
  return POWERCUT_FULL;
}

static powercut_status large_lookup(powercut_table* table, powercut_bytes key, void* value, size_t capacity,
                                    size_t* size) {
  slot_head* slot = find(table, key);
#ifdef HANGS
  volatile int forever = 1;
  while (forever) {
  }
#endif
  if (slot == NULL) return POWERCUT_NOT_FOUND;
  *size = table->value_size;
  memcpy(value, value_of(slot), capacity < *size ? capacity : *size);
  return POWERCUT_OK;
}

static uint64_t large_regions(powercut_table* table) {
  (void)table;
  return kSlots;
}

static powercut_status large_walk(powercut_table* table, uint64_t region, powercut_item_fn item, void* context) {
  slot_head* slot = slot_at(table, region);
  if (slot->commit == 0) return POWERCUT_OK;
  const powercut_bytes key = {slot->key, table->key_size}, value = {value_of(slot), table->value_size};
  item(context, key, value);
  return POWERCUT_OK;
}

static powercut_status large_copies(powercut_table* table, powercut_bytes key, powercut_item_fn item, void* context) {
  slot_head* slot = find(table, key);
  if (slot == NULL) return POWERCUT_OK;
  const powercut_bytes value = {value_of(slot), table->value_size};
  item(context, key, value);
  return POWERCUT_OK;
}

static void large_close(powercut_table* table) { free(table); }

const powercut_target* powercut_target_entry(uint32_t abi) {
  static const char* const variants[] = {"default", NULL};
  static const char* const none[] = {NULL};
  static const powercut_target target = {
      .abi = POWERCUT_TARGET_ABI,
      .name = "large",
      .summary = "a map of large values",
      .paper = "none",
      .variants = variants,
      .options = none,
      .commands = none,
      .traits = large_traits,
      .format = large_format,
      .open = large_open,
      .insert = large_insert,
      .lookup = large_lookup,
      .copies = large_copies,
      .regions = large_regions,
      .walk = large_walk,
      .close = large_close,
  };
  return abi == POWERCUT_TARGET_ABI ? &target : NULL;
}
