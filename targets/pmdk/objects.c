#include "targets/pmdk/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_offset(const void* left, const void* right) {
  const uint64_t a = ((const struct object*)left)->offset;
  const uint64_t b = ((const struct object*)right)->offset;
  return (a > b) - (a < b);
}

struct objects objects_of(PMEMobjpool* pool) {
  struct objects objects = {0};
  size_t room = 0;
  for (PMEMoid oid = pmemobj_first(pool); !OID_IS_NULL(oid); oid = pmemobj_next(oid)) {
    if (objects.count == room) {
      room = room ? room * 2 : 64;
      struct object* grown = realloc(objects.items, room * sizeof(*grown));
      if (!grown) {
        perror("realloc");
        exit(2);
      }
      objects.items = grown;
    }
    objects.pool_id = oid.pool_uuid_lo;
    objects.items[objects.count++] =
        (struct object){.offset = oid.off, .type = pmemobj_type_num(oid), .size = pmemobj_alloc_usable_size(oid)};
  }
  if (objects.count) qsort(objects.items, objects.count, sizeof(*objects.items), by_offset);
  return objects;
}

void objects_free(struct objects* objects) {
  free(objects->items);
  *objects = (struct objects){0};
}

const struct object* objects_reach(struct objects* objects, PMEMoid oid, uint64_t type, size_t size, const char* what,
                                   char reason[kReasonSize]) {
  const struct object key = {.offset = oid.off};
  struct object* found =
      objects->count ? bsearch(&key, objects->items, objects->count, sizeof(*objects->items), by_offset) : NULL;
  if (!found || oid.pool_uuid_lo != objects->pool_id) {
    snprintf(reason, kReasonSize, "The %s at offset %" PRIu64 " is no allocated object.", what, oid.off);
    return NULL;
  }
  if (found->type != type || found->size < size) {
    snprintf(reason, kReasonSize, "The %s at offset %" PRIu64 " is an object of type %" PRIu64 " and %zu bytes.", what,
             oid.off, found->type, found->size);
    return NULL;
  }
  if (found->reached) {
    snprintf(reason, kReasonSize, "The %s at offset %" PRIu64 " is reached twice.", what, oid.off);
    return NULL;
  }
  found->reached = true;
  return found;
}

bool objects_all_reached(const struct objects* objects, char reason[kReasonSize]) {
  for (size_t i = 0; i < objects->count; ++i) {
    const struct object* object = &objects->items[i];
    if (!object->reached) {
      snprintf(reason, kReasonSize, "The object of type %" PRIu64 " at offset %" PRIu64 " is allocated, not reached.",
               object->type, object->offset);
      return false;
    }
  }
  return true;
}

bool verify_map(const struct pmdk_map* map, struct pmdk_session* session, char reason[kReasonSize]) {
  struct objects objects = objects_of(session->pool);
  const bool valid = map->verify(session, &objects, reason);
  objects_free(&objects);
  return valid;
}
