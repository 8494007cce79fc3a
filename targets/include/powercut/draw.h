/* An optional part of a target: draws the table, as buckets and slots, for the pictures of a finding's page. ABI.md,
 * "Drawing", says when the engine calls the function. The function is separate from powercut_target, so a target
 * without a drawing is complete.
 *
 * A target that exports `powercut_target_draw` reports every cell of an open table: items, empty slots, and the words
 * that hold the table together (tokens, locks, pointers). These reports are shown to people and never judged.
 */
#ifndef POWERCUT_DRAW_H_
#define POWERCUT_DRAW_H_

#include "powercut/target.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum powercut_cell_kind {
  POWERCUT_CELL_EMPTY = 0, /* a slot without an item; with a key: one is there, and does not count */
  POWERCUT_CELL_ITEM = 1,  /* a slot with a valid item: `key` and `value` */
  POWERCUT_CELL_WORD = 2   /* part of the bucket's own data: `label` and `text` */
} powercut_cell_kind;

/* Cells with the same group and bucket stand in one row. A slot is told from another by `slot`, a word by `label`:
 * both must be the same in every run, so that two drawings can be laid side by side. Texts are copied. */
typedef struct powercut_cell {
  uint32_t kind;             /* powercut_cell_kind */
  uint32_t slot;             /* number in the bucket; of a word: nothing */
  uint64_t bucket;           /* number in the group */
  const char* group;         /* "top level", "segment 3", "directory" */
  const char* label;         /* of a word: its name, "tokens"; else null */
  const char* text;          /* for a word: its meaning, "1101"; for a slot: a remark or null */
  const void* at;            /* where it lies in the pool */
  uint64_t size;             /* bytes; 0, with `at` null: it lies in RAM, which a power cut takes */
  powercut_bytes key, value; /* of an item; of counters, the value is the part of the sum that is here */
} powercut_cell;

/* Called once a cell, in the order in which people read the table; stop when it returns non-zero. */
typedef int (*powercut_cell_fn)(void* context, const powercut_cell* cell);

/* Writes nothing to the pool. The symbol is `powercut_target_draw`. */
typedef powercut_status (*powercut_target_draw_fn)(powercut_table*, powercut_cell_fn, void* context);
powercut_status powercut_target_draw(powercut_table* table, powercut_cell_fn cell, void* context);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_DRAW_H_ */
