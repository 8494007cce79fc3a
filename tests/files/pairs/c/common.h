/* The small programs share this. Each takes the words `setup`, `run`, `check` or `dump`, and a folder. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends the program with status 1 and what went wrong. */
static inline void need(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static inline int opened(const char *path, int flags) {
  int fd = open(path, flags, 0644);
  need(fd >= 0, path);
  return fd;
}

static inline void put_all(int fd, const void *data, size_t size) {
  need(write(fd, data, size) == (ssize_t)size, "short write");
}

static inline void sync_folder(const char *path) {
  int fd = opened(path, O_RDONLY | O_DIRECTORY);
  need(fsync(fd) == 0, "fsync of a folder");
  close(fd);
}

/* The operation is promised to the user. */
static inline void acknowledge(const char *what) {
  printf("done %s\n", what);
  fflush(stdout);
}

/* FNV-1a. Zeroes have a sum that is not zero. */
static inline uint32_t sum_of(const void *data, size_t size) {
  const unsigned char *bytes = data;
  uint32_t sum = 2166136261u;
  while (size-- > 0) sum = (sum ^ *bytes++) * 16777619u;
  return sum;
}

/* Enters the folder, which setup makes. */
static inline const char *enter(int words, char **word) {
  need(words == 3, "usage: PROGRAM setup|run|check|dump FOLDER");
  if (strcmp(word[1], "setup") == 0) mkdir(word[2], 0755);
  need(chdir(word[2]) == 0, word[2]);
  return word[1];
}

static inline int is(const char *word, const char *other) { return strcmp(word, other) == 0; }

/* The twin runs with this variable. */
static inline int mended(void) { return getenv("MENDED") != NULL; }
