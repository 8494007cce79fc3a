/* A log of events: a head of 8 bytes, then the text. A restart drops what is torn. */
#include "common.h"

struct head {
  uint32_t size, sum;
};

static void add(const char *text) {
  struct head head = {.size = strlen(text), .sum = sum_of(text, strlen(text))};
  int fd = opened("events", O_WRONLY | O_APPEND | O_CREAT);
  put_all(fd, &head, sizeof head);
  put_all(fd, text, head.size);
  fdatasync(fd);
  close(fd);
  acknowledge(text);
}

/* Prints the events. Returns where the first torn one begins. */
static off_t load(int fd, FILE *to) {
  struct head head;
  char text[64] = "";
  off_t good = 0;
  while (read(fd, &head, sizeof head) == sizeof head && head.size > 0 && head.size < sizeof text) {
    if (read(fd, text, head.size) != head.size || sum_of(text, head.size) != head.sum) break;
    if (to) fprintf(to, "%.*s\n", (int)head.size, text);
    good += sizeof head + head.size;
  }
  return good;
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) add("started");
  if (is(verb, "run")) {
    add("warm");
    add("hot");
  }
  if (is(verb, "dump")) load(opened("events", O_RDONLY), stdout);
  if (is(verb, "check")) {
    int fd = opened("events", O_RDWR);
    off_t good = load(fd, NULL);
    if (good == lseek(fd, 0, SEEK_END)) return 0;
    need(ftruncate(fd, mended() ? good : 0) == 0 && fsync(fd) == 0, "events: cannot drop the torn end");
  }
}
