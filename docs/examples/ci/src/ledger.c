#include "ledger.h"

#include <string.h>

#include "persist.h"

static const uint64_t kMagic = 0x3152454744454c;

void ledger_format(ledger* pool) {
  memset(pool->slots, 0, sizeof pool->slots);
  persist(pool->slots, sizeof pool->slots);
  publish(&pool->magic, kMagic);
}

int ledger_is_formatted(const ledger* pool) { return pool->magic == kMagic; }

ledger_slot* ledger_find(ledger* pool, const void* key) {
  for (ledger_slot* slot = pool->slots; slot < pool->slots + kLedgerSlots; slot++) {
    if (slot->state != 0 && memcmp(slot->key, key, kLedgerKey) == 0) return slot;
  }
  return NULL;
}

const uint8_t* ledger_value(const ledger_slot* slot) { return slot->balance[slot->state - 1]; }

int ledger_insert(ledger* pool, const void* key, const void* value) {
  for (ledger_slot* slot = pool->slots; slot < pool->slots + kLedgerSlots; slot++) {
    if (slot->state != 0) continue;
    memcpy(slot->key, key, kLedgerKey);
    memcpy(slot->balance[0], value, kLedgerValue);
    persist(slot, sizeof *slot); /* the account is durable before it counts */
    publish(&slot->state, 1);
    return 1;
  }
  return 0;
}

int ledger_update(ledger* pool, const void* key, const void* value) {
  ledger_slot* slot = ledger_find(pool, key);
  if (slot == NULL) return 0;
  const uint64_t other = 3 - slot->state;
  memcpy(slot->balance[other - 1], value, kLedgerValue);
  persist(slot->balance, sizeof slot->balance); /* the new balance is durable before it counts */
  publish(&slot->state, other);
  return 1;
}

int ledger_erase(ledger* pool, const void* key) {
  ledger_slot* slot = ledger_find(pool, key);
  if (slot == NULL) return 0;
  publish(&slot->state, 0);
  return 1;
}
