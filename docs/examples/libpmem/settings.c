/* Settings in persistent memory with libpmem: two copies, of which one is current. A change goes into the other copy,
 * and one 8-byte store makes that one current.
 *
 *   settings create POOL    settings of version 1
 *   settings run POOL       changes them six times
 *   settings check POOL     what a restart does: exit 1 if the current copy is not whole
 *   settings dump POOL      the current settings
 */
#include <inttypes.h>
#include <libpmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "powercut/mark.h"

struct settings {
  uint64_t version;
  char name[112];
  uint64_t checksum;
};

struct pool {
  uint64_t current; /* 0 or 1 */
  uint64_t unused[7];
  struct settings copies[2];
};

static uint64_t checksum(const struct settings* settings) {
  uint64_t sum = settings->version;
  for (size_t i = 0; i < sizeof(settings->name); ++i) sum = sum * 31 + (unsigned char)settings->name[i];
  return sum;
}

static void change(struct pool* pool, uint64_t version) {
  struct settings settings = {.version = version};
  snprintf(settings.name, sizeof(settings.name),
           "the settings of version %" PRIu64 ", which fill several lines of the cache", version);
  settings.checksum = checksum(&settings);
  struct settings* copy = &pool->copies[1 - pool->current];
#ifdef BUG
  pmem_memcpy_nodrain(copy, &settings, sizeof(settings)); /* flushed, and then nothing waits for it */
#else
  pmem_memcpy_persist(copy, &settings, sizeof(settings));
#endif
  pool->current = 1 - pool->current;
#ifndef LOST
  pmem_persist(&pool->current, sizeof(pool->current));
#endif
}

static int check(const struct pool* pool) {
  if (pool->current > 1) {
    printf("Copy %" PRIu64 " is current, and there are two.\n", pool->current);
    return 1;
  }
  const struct settings* settings = &pool->copies[pool->current];
  if (settings->version == 0 || settings->checksum != checksum(settings)) {
    printf("The current copy, of version %" PRIu64 ", is not whole.\n", settings->version);
    return 1;
  }
  printf("version %" PRIu64 "\n", settings->version);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s create|run|check|dump POOL\n", argv[0]);
    return 2;
  }
  const int create = strcmp(argv[1], "create") == 0;
  if (create) remove(argv[2]);
  size_t size;
  int is_pmem;
  struct pool* pool =
      pmem_map_file(argv[2], create ? sizeof(*pool) : 0, create ? PMEM_FILE_CREATE : 0, 0644, &size, &is_pmem);
  if (pool == NULL) {
    fprintf(stderr, "%s: %s\n", argv[2], pmem_errormsg());
    return 2;
  }
  int status = 0;
  if (create) {
    change(pool, 1);
  } else if (strcmp(argv[1], "run") == 0) {
    const uint64_t version = pool->copies[pool->current].version;
    for (uint64_t next = version + 1; next <= version + 6; ++next) {
      powercut_mark_begin(POWERCUT_MARK_UPDATE, NULL, 0, &next, sizeof(next));
      change(pool, next);
      powercut_mark_end(0, NULL, 0); /* acknowledged: from here on it must not be lost */
    }
  } else if (strcmp(argv[1], "check") == 0) {
    status = check(pool);
  } else if (strcmp(argv[1], "dump") == 0) {
    printf("%" PRIu64 " %s\n", pool->copies[pool->current].version, pool->copies[pool->current].name);
  }
  pmem_unmap(pool, size);
  return status;
}
