/* A log of entries, each in a sector of its own. Two entries are synced together, so the second may be there alone. */
#include "common.h"

enum { SECTOR = 512 };

struct entry {
  uint32_t sum, value;
  char rest[SECTOR - 8];
};

static int number(void) {
  struct entry e;
  int fd = opened("log", O_RDONLY), count = 0;
  while (read(fd, &e, sizeof e) == sizeof e && sum_of(&e.value, sizeof e.value) == e.sum) count++;
  close(fd);
  return count;
}

static void append(int fd, uint32_t value, int at) {
  struct entry e = {.sum = sum_of(&value, sizeof value), .value = value};
  need(pwrite(fd, &e, sizeof e, (off_t)at * SECTOR) == sizeof e, "short write");
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  int fd = opened("log", O_RDWR | O_CREAT), count = number();
  if (is(verb, "setup")) {
    append(fd, 1, 0);
    fsync(fd);
    sync_folder(".");
  }
  if (is(verb, "run")) {
    append(fd, 2, count);
    append(fd, 3, count + 1);
    fsync(fd);
    puts("done");
  }
  /* A sector behind the last good entry is no part of the log, until an append fills the gap before it. */
  if (is(verb, "check") && mended()) {
    need(ftruncate(fd, (off_t)count * SECTOR) == 0 && fsync(fd) == 0, "truncate");
  }
  if (is(verb, "check") || is(verb, "dump")) {
    uint32_t last = 0;
    struct entry e;
    for (int at = 0; at < count; at++) {
      need(pread(fd, &e, sizeof e, (off_t)at * SECTOR) == sizeof e, "short read");
      need(e.value > last, "an entry from another life");
      last = e.value;
    }
  }
  if (is(verb, "continue")) {
    append(fd, 9, count);
    fsync(fd);
  }
}
