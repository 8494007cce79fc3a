/* Samples of a sensor, 16 bytes each, at the end of a file. */
#include "common.h"

struct sample {
  uint32_t sum, number, unused[2];
};

static void add(uint32_t number, const char *what) {
  struct sample s = {.sum = sum_of(&number, sizeof number), .number = number};
  int fd = opened("samples", O_WRONLY | O_CREAT);
  off_t end = lseek(fd, 0, SEEK_END);
  put_all(fd, &s, sizeof s);
  if (mended())
    fdatasync(fd);
  else
    sync_file_range(fd, end, sizeof s,
                    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  close(fd);
  acknowledge(what);
}

static void load(int fd, FILE *to) {
  struct sample s;
  off_t size = 0;
  while (read(fd, &s, sizeof s) == sizeof s && sum_of(&s.number, sizeof s.number) == s.sum) {
    if (to) fprintf(to, "%u\n", s.number);
    size += sizeof s;
  }
  if (!to) need(ftruncate(fd, size) == 0 && fsync(fd) == 0, "samples: cannot drop the torn end");
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) add(20, "twenty");
  if (is(verb, "run")) {
    add(21, "more");
    add(22, "most");
  }
  if (is(verb, "check")) load(opened("samples", O_RDWR), NULL);
  if (is(verb, "dump")) load(opened("samples", O_RDONLY), stdout);
}
