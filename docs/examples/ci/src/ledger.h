/* A ledger of accounts in persistent memory: a table of fixed size, each account in a slot of two lines. */
#ifndef LEDGER_H_
#define LEDGER_H_

#include <stdint.h>

enum { kLedgerSlots = 16, kLedgerKey = 8, kLedgerValue = 8 };

typedef struct ledger_slot {
  uint64_t state; /* 0: free; 1 or 2: which of the two balances counts */
  uint8_t key[kLedgerKey];
  uint8_t unused[48];
  uint8_t balance[2][kLedgerValue];
  uint8_t padding[48];
} ledger_slot;

typedef struct ledger {
  uint64_t magic, unused[7];
  ledger_slot slots[kLedgerSlots];
} ledger;

void ledger_format(ledger* pool);
int ledger_is_formatted(const ledger* pool);
/* NULL when there is no such account. */
ledger_slot* ledger_find(ledger* pool, const void* key);
const uint8_t* ledger_value(const ledger_slot* slot);
/* Each returns 0 when it cannot be done; what was done is durable at return. */
int ledger_insert(ledger* pool, const void* key, const void* value);
int ledger_update(ledger* pool, const void* key, const void* value);
int ledger_erase(ledger* pool, const void* key);

#endif /* LEDGER_H_ */
