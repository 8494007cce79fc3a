/* Notices a run that asks for the time. The run makes the file of POWERCUT_FORK_CLOCK (serve.h), or finds it and adds
 * the seconds that stand in the file to each answer. Clocks of durations (CLOCK_MONOTONIC and the processor's time) do
 * not count.
 *
 * Known inaccuracies: system calls that a program makes itself, and programs that are linked statically, are not
 * noticed. */
#define _GNU_SOURCE
#include "checker/subjects/program/forkserver/clock.h"

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

/* Seconds to add, and whether they are known. Threads that ask at once read the file each, and find the same. */
static atomic_long shift = 0;
static atomic_bool known = true;

void powercut_notice_clock(void) { atomic_store(&known, false); }

static long asked(void) {
  if (atomic_load(&known)) return atomic_load(&shift);
  const int saved = errno;
  const char* path = getenv(POWERCUT_FORK_CLOCK);
  const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  char digits[24] = "";
  if (fd >= 0 && read(fd, digits, sizeof digits - 1) > 0) atomic_store(&shift, atol(digits));
  if (fd >= 0) close(fd);
  atomic_store(&known, true);
  errno = saved;
  return atomic_load(&shift);
}

EXPORT time_t time(time_t* out) {
  REAL(time);
  const time_t now = real(NULL) + asked();
  if (out != NULL) *out = now;
  return now;
}
EXPORT int gettimeofday(struct timeval* restrict out, void* restrict zone) {
  REAL(gettimeofday);
  const int result = real(out, zone);
  if (result == 0) out->tv_sec += asked();
  return result;
}
EXPORT int clock_gettime(clockid_t clock, struct timespec* out) {
  REAL(clock_gettime);
  const int result = real(clock, out);
  const bool date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  if (result == 0 && date) out->tv_sec += asked();
  return result;
}
EXPORT int timespec_get(struct timespec* out, int base) {
  REAL(timespec_get);
  const int result = real(out, base);
  if (result == TIME_UTC) out->tv_sec += asked();
  return result;
}
