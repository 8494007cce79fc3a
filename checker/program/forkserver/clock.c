/* Notices a run that asks which time it is: it makes the file of POWERCUT_FORK_CLOCK (serve.h). How long something
 * takes (CLOCK_MONOTONIC and the processor's time) is no such question.
 *
 * Known inaccuracies: system calls that a program makes itself, and programs that are linked statically, are not
 * noticed. */
#define _GNU_SOURCE
#include "checker/program/forkserver/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name)               \
  static __typeof__(name)* real; \
  if (real == NULL) real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)

static atomic_bool told = true;

void powercut_notice_clock(void) { atomic_store(&told, false); }

static void asked(void) {
  if (atomic_load_explicit(&told, memory_order_relaxed) || atomic_exchange(&told, true)) return;
  const int saved = errno;
  const char* path = getenv(POWERCUT_FORK_CLOCK);
  const int fd = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  errno = saved;
}

EXPORT time_t time(time_t* out) {
  REAL(time);
  asked();
  return real(out);
}
EXPORT int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  REAL(gettimeofday);
  asked();
  return real(out, zone);
}
EXPORT int clock_gettime(clockid_t clock, struct timespec* out) {
  REAL(clock_gettime);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI) asked();
  return real(clock, out);
}
EXPORT int timespec_get(struct timespec* out, int base) {
  REAL(timespec_get);
  asked();
  return real(out, base);
}
