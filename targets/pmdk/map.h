/* The common part of this folder's programs: a map over 8-byte keys and values in a libpmemobj pool.
 *
 * A map is one constant of type struct pmdk_map; program.c makes an executable of it. Key 0 and value 0 are not used,
 * so that zeroed memory is never taken for an item. */

#ifndef POWERCUT_TARGETS_PMDK_MAP_H_
#define POWERCUT_TARGETS_PMDK_MAP_H_

#include <libpmemobj.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A seeded misuse of the library. Maps number theirs from 1. */
struct pmdk_bug {
  const char* name;
  const char* summary;
};

/* An open map. `bug` is the number of the misuse that is switched on, 0 for none. */
struct pmdk_session {
  PMEMobjpool* pool;
  unsigned bug;
};

/* The result of an operation. Every result but kFailed is an acknowledged answer. */
enum pmdk_status { kDone, kExists, kAbsent, kFailed };

enum { kReasonSize = 200 };

struct objects;

struct pmdk_map {
  const char* name;
  const char* layout; /* of the pool; pmemobj_open refuses a pool of another */
  const struct pmdk_bug* bugs;
  size_t bug_count;

  /* Makes the map in a fresh pool; in any other, finishes what a power cut interrupted. */
  bool (*recover)(struct pmdk_session* session);
  enum pmdk_status (*insert)(struct pmdk_session* session, uint64_t key, uint64_t value);
  enum pmdk_status (*update)(struct pmdk_session* session, uint64_t key, uint64_t value);
  enum pmdk_status (*erase)(struct pmdk_session* session, uint64_t key);
  enum pmdk_status (*lookup)(struct pmdk_session* session, uint64_t key, uint64_t* value);
  /* Doubles the number of buckets. Insertions call it by themselves when there are more items than buckets. */
  enum pmdk_status (*rehash)(struct pmdk_session* session);
  uint64_t (*count)(struct pmdk_session* session);
  /* Calls `visit` for every item, in no particular order. */
  void (*walk)(struct pmdk_session* session, void (*visit)(uint64_t key, uint64_t value, void* context), void* context);
  /* Returns true if every structural invariant holds; else writes one sentence to `reason`. `objects` are the objects
   * of the pool. The function follows a pointer of the pool only to an object of the right type. */
  bool (*verify)(struct pmdk_session* session, struct objects* objects, char reason[kReasonSize]);
};

/* The map of a source file that has these functions and kBugs. */
#define PMDK_DESCRIBE_MAP(map_name, pool_layout) \
  {.name = (map_name),                           \
   .layout = (pool_layout),                      \
   .bugs = kBugs,                                \
   .bug_count = sizeof(kBugs) / sizeof(*kBugs),  \
   .recover = recover,                           \
   .insert = insert,                             \
   .update = update,                             \
   .erase = erase,                               \
   .lookup = lookup,                             \
   .rehash = rehash,                             \
   .count = count,                               \
   .walk = walk,                                 \
   .verify = verify}

/* Calls `map->verify` with the objects of the pool. */
bool verify_map(const struct pmdk_map* map, struct pmdk_session* session, char reason[kReasonSize]);

extern const struct pmdk_map tx_map;
extern const struct pmdk_map atomic_map;

enum { kFirstBuckets = 4 };

/* Neighbouring keys go to neighbouring buckets: a reader of a workload sees which keys share a chain. */
static inline uint64_t bucket_index(uint64_t key, uint64_t bucket_count) { return key & (bucket_count - 1); }

#ifdef __cplusplus
}
#endif

#endif /* POWERCUT_TARGETS_PMDK_MAP_H_ */
