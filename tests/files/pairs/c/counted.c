/* Items of a sector each, behind a header that counts them. */
#include "common.h"

enum { SECTOR = 512 };
struct item {
  uint32_t sum;
  char text[SECTOR - 4];
};

static uint32_t count(int fd) {
  uint32_t count = 0;
  need(pread(fd, &count, sizeof count, 0) == sizeof count, "items: no header");
  return count;
}

static void add(int fd, const char *text) {
  struct item item = {0};
  uint32_t items = count(fd), more = items + 1;
  strncpy(item.text, text, sizeof item.text - 1);
  item.sum = sum_of(item.text, sizeof item.text);
  need(pwrite(fd, &item, sizeof item, (1 + items) * SECTOR) == sizeof item, "items: an item");
  if (mended()) fsync(fd);
  need(pwrite(fd, &more, sizeof more, 0) == sizeof more, "items: the header");
  fsync(fd);
  acknowledge(text);
}

static void load(int fd, FILE *to) {
  struct item item;
  for (uint32_t i = 0, items = count(fd); i < items; i++) {
    need(pread(fd, &item, sizeof item, (1 + i) * SECTOR) == sizeof item, "items: shorter than the header says");
    need(sum_of(item.text, sizeof item.text) == item.sum, "items: a damaged one");
    if (to) fprintf(to, "%s\n", item.text);
  }
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  int fd = opened("items", O_RDWR | O_CREAT);
  if (is(verb, "setup")) {
    need(ftruncate(fd, SECTOR) == 0, "items");
    add(fd, "apple");
  }
  if (is(verb, "run")) {
    add(fd, "pear");
    add(fd, "plum");
  }
  if (is(verb, "check")) load(fd, NULL);
  if (is(verb, "dump")) load(fd, stdout);
}
