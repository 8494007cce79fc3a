/* Settings in persistent memory: a name and a number in one line each. */
#ifndef SETTINGS_H_
#define SETTINGS_H_

#include <stdint.h>

enum { kSettingsSlots = 16, kSettingsKey = 8, kSettingsValue = 8 };

typedef struct settings_slot {
  uint64_t state; /* 0: free; 1: set */
  uint8_t key[kSettingsKey];
  uint64_t number;
  uint64_t unused[5];
} settings_slot;

typedef struct settings {
  uint64_t magic, unused[7];
  settings_slot slots[kSettingsSlots];
} settings;

void settings_format(settings* pool);
int settings_is_formatted(const settings* pool);
/* NULL when it is not set. */
settings_slot* settings_find(settings* pool, const void* key);
const uint8_t* settings_value(const settings_slot* slot);
/* Each returns 0 when it cannot be done. */
int settings_insert(settings* pool, const void* key, const void* value);
int settings_update(settings* pool, const void* key, const void* value);
int settings_erase(settings* pool, const void* key);

#endif /* SETTINGS_H_ */
