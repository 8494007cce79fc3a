/* The target ABI: what a program under test offers to powercut. ABI.md explains it with an example.
 * Plain C; a target is a shared library that exports `powercut_target_entry`.
 *
 * All persistent data lives in [pool->base, pool->base + pool->size), mapped at the same address in
 * every run of a trace. Everything else (the table handle, DRAM mirrors) is volatile: it is dropped at
 * a crash and rebuilt by `open`. Calls are made by one thread at a time unless the traits say more. */
#ifndef POWERCUT_TARGET_H_
#define POWERCUT_TARGET_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define POWERCUT_TARGET_ABI 5u

typedef enum powercut_status {
  POWERCUT_OK = 0,
  POWERCUT_NOT_FOUND = 1,     /* lookup, update, erase: no such key */
  POWERCUT_FULL = 2,          /* no room in the pool or in memory; nothing was changed */
  POWERCUT_NOT_FORMATTED = 3, /* open: the pool was never (completely) formatted */
  POWERCUT_CORRUPT = 4,       /* open, or any operation: the target itself detected damage */
  POWERCUT_UNSUPPORTED = 5,   /* this target or configuration has no such operation */
  POWERCUT_BAD_CONFIG = 6,    /* unknown key or value in the configuration; see powercut_error */
  POWERCUT_EXISTS = 7,        /* insert of a present key, where the target checks it */
  POWERCUT_TOO_LARGE = 8      /* insert, update (since ABI 5): more bytes than the target takes; nothing was changed */
} powercut_status;

typedef struct powercut_bytes {
  const void* data;
  size_t size;
} powercut_bytes;

typedef struct powercut_pool {
  uint8_t* base;
  uint64_t size; /* bytes; a multiple of 4096 */
} powercut_pool;

typedef struct powercut_option {
  const char* key;
  const char* value;
} powercut_option;

/* The configuration of a run. `variant` is "published", "hardened" or a further name of the target. */
typedef struct powercut_config {
  const char* variant;
  const powercut_option* options;
  size_t option_count;
  uint32_t key_size;   /* bytes of every key of the run; of the longest key, where sizes are mixed */
  uint32_t value_size; /* bytes of every value of the run; of the longest value, where sizes are mixed */
  char* error;         /* POWERCUT_BAD_CONFIG: one sentence for the user (may be null) */
  size_t error_size;
  /* Since ABI 5: bytes of the shortest key and of the shortest value. Sizes are mixed where one of them is below its
   * `key_size` or `value_size`: each call then says the size of its own key and value. */
  uint32_t least_key_size;
  uint32_t least_value_size;
} powercut_config;

typedef struct powercut_table powercut_table; /* opaque volatile handle */

/* Traits that excuse something carry `citation`: the paper's sentence or section that allows it. */
typedef struct powercut_traits {
  uint32_t copy_bound;        /* most physically valid copies of one key after recovery */
  uint32_t copies_may_differ; /* 1: copies of one key may hold different values */
  uint32_t leak_bound;        /* most blocks that may be allocated and unreachable after recovery */
  uint32_t thread_safe;
  /* 1: after a power cut the table may hold the result of a beginning of the acknowledged operations. 2 (since ABI 4):
   * each key may hold the result of a beginning of its own operations. */
  uint32_t buffered;
  uint32_t checks_exists; /* 1: insert of a present key answers POWERCUT_EXISTS */
  const char* copy_citation;
  const char* leak_citation;
  const char* notes;
  /* Since ABI 2. */
  uint32_t detects_damage;    /* 1: a flipped bit is answered by an error, never by wrong data */
  uint32_t needs_zeroed_pool; /* 1: format relies on a pool of zeroes; on other contents the table is undefined */
  /* Since ABI 3. */
  uint32_t read_uncommitted; /* 1: a lookup may answer what a power cut takes away; the citation says who says so */
  const char* read_citation;
  /* Since ABI 4. */
  uint32_t counts; /* 1: a table of counters. Keys are incremented; a value is a sum, a signed number of 8 bytes */
  /* Since ABI 5. */
  uint32_t mixed_sizes;   /* 1: keys and values may have other sizes from call to call; 0: one size for the whole run */
  uint32_t most_key_size; /* bytes of the longest key that the target takes; 0: no limit of its own */
  uint32_t most_value_size; /* bytes of the longest value that the target takes; 0: no limit of its own */
} powercut_traits;

/* Called once per item; stops when it returns non-zero. */
typedef int (*powercut_item_fn)(void* context, powercut_bytes key, powercut_bytes value);
/* One allocated block: pool-relative offset and size in bytes. */
typedef int (*powercut_block_fn)(void* context, uint64_t offset, uint64_t size);

typedef struct powercut_target {
  uint32_t abi;                /* POWERCUT_TARGET_ABI */
  const char* name;            /* "level" */
  const char* summary;         /* one line */
  const char* paper;           /* short reference */
  const char* const* variants; /* null-terminated; first is the default */
  const char* const* options;  /* null-terminated lines "key=default|other|...: what it does" */
  const char* const* commands; /* null-terminated names for `maintain`, e.g. "expand" */

  powercut_status (*traits)(const powercut_config* config, powercut_traits* out);
  /* Makes an empty table in a fresh pool (zeroed, if the traits need that); durable when it returns. */
  powercut_status (*format)(powercut_pool pool, const powercut_config* config);
  /* Opens the table and runs recovery; the table is fully usable when it returns POWERCUT_OK. */
  powercut_status (*open)(powercut_pool pool, const powercut_config* config, powercut_table** out);
  /* Precondition of insert: the key is absent (unless traits.checks_exists). Durable at return. */
  powercut_status (*insert)(powercut_table*, powercut_bytes key, powercut_bytes value);
  /* Null: the map has no update, or no erase; the same as one that always answers POWERCUT_UNSUPPORTED. */
  powercut_status (*update)(powercut_table*, powercut_bytes key, powercut_bytes value);
  powercut_status (*erase)(powercut_table*, powercut_bytes key);
  /* Copies at most `capacity` bytes of the value to `value`, its full size to `*size`. */
  powercut_status (*lookup)(powercut_table*, powercut_bytes key, void* value, size_t capacity, size_t* size);
  /* Optional operation outside the map interface, by name ("expand", "shrink"). */
  powercut_status (*maintain)(powercut_table*, const char* command);

  /* Inspection, after `open`. All optional but `copies`; none may write to the pool. */
  powercut_status (*copies)(powercut_table*, powercut_bytes key, powercut_item_fn, void* context);
  uint64_t (*regions)(powercut_table*);
  powercut_status (*walk)(powercut_table*, uint64_t region, powercut_item_fn, void* context);
  powercut_status (*blocks)(powercut_table*, powercut_block_fn, void* context);
  /* 1: the table reaches the block that begins at `offset`. */
  int (*owner)(powercut_table*, uint64_t offset);
  /* The scheme's own invariants of one region; POWERCUT_CORRUPT with one sentence in `message`. */
  powercut_status (*verify)(powercut_table*, uint64_t region, char* message, size_t size);
  void (*close)(powercut_table*);
  /* Since ABI 4, of a table with the trait `counts`, in the place of insert and update, which are null then: adds
   * `delta` to the key's sum. A sum of 0 is the same as an absent key: lookup answers NOT_FOUND. Erase makes it 0. */
  powercut_status (*increment)(powercut_table*, powercut_bytes key, int64_t delta);
} powercut_target;

/* The one symbol that a target library exports. Returns null when it cannot serve `abi`. */
typedef const powercut_target* (*powercut_target_entry_fn)(uint32_t abi);
const powercut_target* powercut_target_entry(uint32_t abi);

/* Bytes of a key and of a value that belong together. */
typedef struct powercut_sizes {
  uint32_t key_size;
  uint32_t value_size;
} powercut_sizes;

/* Optional, for a target that takes only some sizes: returns the sizes that the target takes, {0, 0} at the end.
 * Scenarios for every map then run with the first sizes of the list, unless their own sizes are in the list. */
typedef const powercut_sizes* (*powercut_target_sizes_fn)(void);
const powercut_sizes* powercut_target_sizes(void);

/* Optional, for a table that works beside its clients, such as a table that moves items to a new level. In scenarios
 * with `threads` each background thread is explored like a client's thread. No other scenario calls them. */
typedef struct powercut_background {
  /* How many threads of its own the open table has. */
  uint32_t (*threads)(powercut_table*);
  /* One batch of the work of thread `number`, from 0: POWERCUT_OK, or POWERCUT_NOT_FOUND when there is none for now.
   * The engine calls `work` again and again; after NOT_FOUND only when a word that `work` read has changed. */
  powercut_status (*work)(powercut_table*, uint32_t number);
} powercut_background;
typedef const powercut_background* (*powercut_target_background_fn)(void);
const powercut_background* powercut_target_background(void);

/* Optional, for a target whose pool is a device: powercut/block.h, powercut/flash.h or powercut/nor.h. The traces of
 * such a target are judged by the model of that medium. */
typedef enum powercut_medium {
  POWERCUT_MEMORY = 0,
  POWERCUT_BLOCK = 1,
  POWERCUT_FLASH = 2,
  POWERCUT_NOR = 3
} powercut_medium;
typedef struct powercut_device {
  uint32_t medium; /* powercut_medium */
  uint32_t bytes;  /* of a sector, of a page with its spare area, or of a cell of nor.h */
  /* block: sectors of an atomic write unit, 1 to 8; flash: pages of an erase block; nor: cells of a sector */
  uint32_t unit;
} powercut_device;
typedef powercut_status (*powercut_target_device_fn)(const powercut_config* config, powercut_device* out);
powercut_status powercut_target_device(const powercut_config* config, powercut_device* out);

#ifdef __cplusplus
}
#endif
#endif /* POWERCUT_TARGET_H_ */
