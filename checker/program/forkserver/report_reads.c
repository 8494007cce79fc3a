#define _GNU_SOURCE
#include "checker/program/forkserver/report_reads.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checker/program/forkserver/redirect.h"
#include "checker/program/forkserver/serve.h"
#include "tracer/runtime/reads/read_log.h"

static powercut_read_log* reads;
static powercut_reads_begin_function* begin;

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
  strcpy(reads->why, "it was not built with 'powercut cc', or by an older one");
  reads->state = kPowercutReadsRefused;
  _exit(0);
}
