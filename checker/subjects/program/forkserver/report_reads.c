#define _GNU_SOURCE
#include "checker/subjects/program/forkserver/report_reads.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checker/subjects/program/forkserver/redirect.h"
#include "checker/subjects/program/forkserver/serve.h"
#include "tracer/runtime/reads/read_log.h"

static powercut_read_log* reads;
static powercut_reads_begin_function* begin;

/* Finds the function in the runtime that the program was built with, or in our own library where the program was built
 * without. */
static powercut_reads_prepare_function* find_runtime(void) {
  void* found = dlsym(RTLD_DEFAULT, POWERCUT_READS_PREPARE);
  /* Our own library lies beside this one, whose run path leads there. */
  void* library = found == NULL ? dlopen(POWERCUT_READS_LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library != NULL) found = dlsym(library, POWERCUT_READS_PREPARE);
  return (powercut_reads_prepare_function*)found;
}

void powercut_prepare_reads(void) {
  const char* number = getenv(POWERCUT_FORK_READS);
  if (number == NULL) return;
  const int fd = atoi(number);
  unsetenv(POWERCUT_FORK_READS);
  void* mapped = mmap(NULL, sizeof *reads, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped == MAP_FAILED) return;
  reads = mapped;
  powercut_reads_prepare_function* prepare = find_runtime();
  if (prepare == NULL) return;
  uint32_t count = 0;
  while (powercut_pools()[count].path != NULL) ++count;
  const char** const images = calloc(count + 1, sizeof *images);
  if (images == NULL) return;
  for (uint32_t i = 0; i < count; ++i) images[i] = powercut_pools()[i].image;
  begin = prepare(POWERCUT_READ_LOG_VERSION, reads, images, count);
}

void powercut_begin_reads(void) {
  if (reads == NULL) return;
  if (begin != NULL) return begin();
  strcpy(reads->why, "the library that follows them cannot be loaded");
  reads->state = kPowercutReadsRefused;
  _exit(0);
}
