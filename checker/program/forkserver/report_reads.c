#define _GNU_SOURCE
#include "checker/program/forkserver/report_reads.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checker/program/forkserver/serve.h"
#include "tracer/runtime/reads/read_log.h"

static powercut_read_log* reads;
static powercut_reads_begin_function* begin;

/* The images of POWERCUT_FORK_POOLS; their texts stay. Returns how many. */
static uint32_t images_of_pools(const char*** out) {
  const char* pools = getenv(POWERCUT_FORK_POOLS);
  char* text = strdup(pools == NULL ? "" : pools);
  uint32_t count = 0;
  const char** images = malloc((strlen(text) + 1) * sizeof *images);
  char* rest = NULL;
  for (char* pool = strtok_r(text, (char[]){POWERCUT_FORK_RS, '\0'}, &rest); pool != NULL;
       pool = strtok_r(NULL, (char[]){POWERCUT_FORK_RS, '\0'}, &rest)) {
    const char* image = strchr(pool, POWERCUT_FORK_US);
    if (image != NULL) images[count++] = image + 1;
  }
  *out = images;
  return count;
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
  powercut_reads_prepare_function* prepare =
      (powercut_reads_prepare_function*)dlsym(RTLD_DEFAULT, POWERCUT_READS_PREPARE);
  if (prepare == NULL) return;
  const char** images;
  const uint32_t count = images_of_pools(&images);
  begin = prepare(POWERCUT_READ_LOG_VERSION, reads, images, count);
}

void powercut_begin_reads(void) {
  if (reads == NULL) return;
  if (begin != NULL) return begin();
  strcpy(reads->why, "it was not built with 'powercut cc', or by an older one");
  reads->state = kPowercutReadsRefused;
  _exit(0);
}
