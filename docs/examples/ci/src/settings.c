/* Known to be wrong in two places, which powercut-baseline.json and powercut-suppressions.toml tell of. */
#include "settings.h"

#include <string.h>

#include "persist.h"

static const uint64_t kMagic = 0x53474e4954544553;

void settings_format(settings* pool) {
  memset(pool->slots, 0, sizeof pool->slots);
  persist(pool->slots, sizeof pool->slots);
  publish(&pool->magic, kMagic);
}

int settings_is_formatted(const settings* pool) { return pool->magic == kMagic; }

settings_slot* settings_find(settings* pool, const void* key) {
  for (settings_slot* slot = pool->slots; slot < pool->slots + kSettingsSlots; slot++) {
    if (slot->state != 0 && memcmp(slot->key, key, kSettingsKey) == 0) return slot;
  }
  return NULL;
}

const uint8_t* settings_value(const settings_slot* slot) { return (const uint8_t*)&slot->number; }

static uint64_t number_of(const void* value) {
  uint64_t number;
  memcpy(&number, value, sizeof number);
  return number;
}

int settings_insert(settings* pool, const void* key, const void* value) {
  for (settings_slot* slot = pool->slots; slot < pool->slots + kSettingsSlots; slot++) {
    if (slot->state != 0) continue;
    memcpy(slot->key, key, kSettingsKey);
    __atomic_store_n(&slot->number, number_of(value), __ATOMIC_RELAXED);
    persist(slot, sizeof *slot);
    publish(&slot->state, 1);
    return 1;
  }
  return 0;
}

int settings_update(settings* pool, const void* key, const void* value) {
  settings_slot* slot = settings_find(pool, key);
  if (slot == NULL) return 0;
  __atomic_store_n(&slot->number, number_of(value), __ATOMIC_RELAXED); /* never flushed: in the baseline */
  return 1;
}

int settings_erase(settings* pool, const void* key) {
  settings_slot* slot = settings_find(pool, key);
  if (slot == NULL) return 0;
  __atomic_store_n(&slot->state, 0, __ATOMIC_RELAXED); /* never flushed: suppressed for a time */
  return 1;
}
