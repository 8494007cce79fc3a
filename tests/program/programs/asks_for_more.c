/* A recovery that asks for more than the bytes of its pool: what, is its last word. Its result, or its dump, depends on
 * that. Compiled with -DDEVICE the pool is written by system calls. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kSize = 8192, kOperations = 4 };

static int record(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, kSize) != 0) return 2;
#ifdef DEVICE
  for (long i = 1; i <= kOperations; ++i) {
    powercut_mark_begin(POWERCUT_MARK_INSERT, &i, sizeof i, &i, sizeof i);
    if (pwrite(fd, &i, sizeof i, 512 * i) != sizeof i || fsync(fd) != 0) return 2;
    powercut_mark_end(0, NULL, 0);
  }
#else
  volatile long* const pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pool == MAP_FAILED) return 2;
  for (long i = 1; i <= kOperations; ++i) {
    powercut_mark_begin(POWERCUT_MARK_INSERT, &i, sizeof i, (const void*)&i, sizeof i);
    pool[8 * i] = i;
    __asm__ volatile("clflush %0\n\tmfence" : "+m"(*(volatile char*)&pool[8 * i]) : : "memory");
    powercut_mark_end(0, NULL, 0);
  }
#endif
  return 0;
}

/* The limit that `what` names, in whole seconds or numbers. */
static long asked(const char* path, int fd, const char* what) {
  struct stat status;
  struct statx extended;
  struct timeval now;
  char copy[4096];
  snprintf(copy, sizeof copy, "%s", path);
  if (strncmp(what, "folder", 6) == 0 ? stat(dirname(copy), &status) != 0 : fstat(fd, &status) != 0) exit(2);
  if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &extended) != 0) exit(2);
  if (strcmp(what, "mtime") == 0 || strcmp(what, "folder-mtime") == 0) return status.st_mtime % 7;
  if (strcmp(what, "atime") == 0) return status.st_atime % 7;
  if (strcmp(what, "ctime") == 0 || strcmp(what, "folder-ctime") == 0) return status.st_ctime % 7;
  if (strcmp(what, "ino") == 0 || strcmp(what, "folder-ino") == 0) return (long)(status.st_ino % 5);
  if (strcmp(what, "statx-mtime") == 0) return extended.stx_mtime.tv_sec % 7;
  if (strcmp(what, "statx-ctime") == 0) return extended.stx_ctime.tv_sec % 7;
  if (strcmp(what, "statx-ino") == 0) return (long)(extended.stx_ino % 5);
  if (strcmp(what, "size") == 0) return status.st_size;
  if (strcmp(what, "time") == 0) return time(NULL) % 5;
  if (strcmp(what, "gettimeofday") == 0) return gettimeofday(&now, NULL) == 0 ? now.tv_sec % 5 : 0;
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[1], "run") == 0) return record(argv[2]);
  const int fd = open(argv[2], O_RDWR);
  long word, sum = 0;
  if (fd < 0 || argc < 4) return 2;
  for (long i = 1; i <= kOperations; ++i) {
#ifdef DEVICE
    if (pread(fd, &word, sizeof word, 512 * i) != sizeof word) word = 0;
#else
    if (pread(fd, &word, sizeof word, 64 * i) != sizeof word) return 2;
#endif
    sum += word;
    if (strcmp(argv[1], "dump") == 0 && word != 0) printf("%ld\n", word);
  }
  const long more = asked(argv[2], fd, argv[3]);
  if (strcmp(argv[1], "print") == 0) printf("recovered %ld at %ld\n", sum, more);
  if (strcmp(argv[1], "dump") == 0 && argc > 4) printf("more=%ld\n", more);
  if (strcmp(argv[1], "check") == 0) return more == 3;
  return 0;
}
