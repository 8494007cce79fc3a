/* The allocated objects of a pool, as the allocator lists them: what a map must reach, each object once. */

#ifndef POWERCUT_TARGETS_PMDK_OBJECTS_H_
#define POWERCUT_TARGETS_PMDK_OBJECTS_H_

#include "targets/pmdk/map.h"

struct object {
  uint64_t offset;
  uint64_t type;
  size_t size; /* usable bytes */
  bool reached;
};

struct objects {
  struct object* items; /* by ascending offset */
  size_t count;
  uint64_t pool_id;
};

/* All objects of the pool but its root. Exits when there is no memory. */
struct objects objects_of(PMEMobjpool* pool);
void objects_free(struct objects* objects);

/* Marks the object behind `oid` as reached and returns it. Returns null, with the reason, when `oid` names no allocated
 * object of this type and at least this size, or one that was reached before. `what` says in the reason whose pointer
 * it is. */
const struct object* objects_reach(struct objects* objects, PMEMoid oid, uint64_t type, size_t size, const char* what,
                                   char reason[kReasonSize]);

/* Whether every object was reached; if not, the reason names the first that was not. */
bool objects_all_reached(const struct objects* objects, char reason[kReasonSize]);

#endif /* POWERCUT_TARGETS_PMDK_OBJECTS_H_ */
