/* A queue in a pool of libpmemobj: a list with its first and last element, changed by transactions.
 *
 *   queue create POOL    an empty queue
 *   queue run POOL       puts two elements in and takes one out
 *   queue check POOL     what a restart does: exit 1 if the list is not what its root says
 *   queue dump POOL      the elements, first to last
 */
#include <inttypes.h>
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

POBJ_LAYOUT_BEGIN(queue);
POBJ_LAYOUT_ROOT(queue, struct queue);
POBJ_LAYOUT_TOID(queue, struct element);
POBJ_LAYOUT_END(queue);

struct element {
  uint64_t value;
  TOID(struct element) next;
};

struct queue {
  TOID(struct element) first;
  TOID(struct element) last;
  uint64_t count;
};

static void put(PMEMobjpool* pool, TOID(struct queue) queue, uint64_t value) {
  TX_BEGIN(pool) {
    TOID(struct element) element = TX_NEW(struct element);
    D_RW(element)->value = value;
    D_RW(element)->next = TOID_NULL(struct element);
    TX_ADD(queue);
    if (TOID_IS_NULL(D_RO(queue)->first)) {
      D_RW(queue)->first = element;
    } else {
#ifndef BUG
      TX_ADD_FIELD(D_RO(queue)->last, next); /* the commit flushes what was added, and nothing else */
#endif
      D_RW(D_RW(queue)->last)->next = element;
    }
    D_RW(queue)->last = element;
    D_RW(queue)->count += 1;
  }
  TX_END
}

static void take(PMEMobjpool* pool, TOID(struct queue) queue) {
  TX_BEGIN(pool) {
    TOID(struct element) element = D_RO(queue)->first;
    TX_ADD(queue);
    D_RW(queue)->first = D_RO(element)->next;
    if (TOID_IS_NULL(D_RO(queue)->first)) D_RW(queue)->last = D_RO(queue)->first;
    D_RW(queue)->count -= 1;
    TX_FREE(element);
  }
  TX_END
}

static int check(PMEMobjpool* pool, TOID(struct queue) queue) {
  uint64_t allocated = 0, linked = 0;
  TOID(struct element) element;
  POBJ_FOREACH_TYPE(pool, element)++ allocated;
  TOID(struct element) last = TOID_NULL(struct element);
  for (element = D_RO(queue)->first; !TOID_IS_NULL(element) && linked <= allocated; element = D_RO(element)->next) {
    last = element;
    ++linked;
  }
  if (linked != D_RO(queue)->count || linked != allocated || !TOID_EQUALS(last, D_RO(queue)->last)) {
    printf("The queue counts %" PRIu64 " elements, links %" PRIu64 " and has %" PRIu64 " allocated.\n",
           D_RO(queue)->count, linked, allocated);
    return 1;
  }
  printf("%" PRIu64 " elements\n", linked);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s create|run|check|dump POOL\n", argv[0]);
    return 2;
  }
  const char* layout = POBJ_LAYOUT_NAME(queue);
  const int create = strcmp(argv[1], "create") == 0;
  if (create) remove(argv[2]);
  PMEMobjpool* pool = create ? pmemobj_create(argv[2], layout, PMEMOBJ_MIN_POOL, 0644) : pmemobj_open(argv[2], layout);
  if (pool == NULL) {
    fprintf(stderr, "%s: %s\n", argv[2], pmemobj_errormsg());
    return 1;
  }
  TOID(struct queue) queue = POBJ_ROOT(pool, struct queue);
  int status = 0;
  if (strcmp(argv[1], "run") == 0) {
    put(pool, queue, 10);
    put(pool, queue, 20);
    take(pool, queue);
  } else if (strcmp(argv[1], "check") == 0) {
    status = check(pool, queue);
  } else if (strcmp(argv[1], "dump") == 0) {
    for (TOID(struct element) element = D_RO(queue)->first; !TOID_IS_NULL(element); element = D_RO(element)->next)
      printf("%" PRIu64 "\n", D_RO(element)->value);
  }
  pmemobj_close(pool);
  return status;
}
