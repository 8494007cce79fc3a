/* Values in slots. A map says which slots are taken, and an index which slot has the value. The map is never synced. */
#include "common.h"

enum { SECTOR = 512, SLOTS = 4 };

struct index {
  uint32_t sum, count, slot[SLOTS];
};

static int load(struct index *index) {
  int fd = open("index", O_RDONLY);
  int whole = fd >= 0 && read(fd, index, sizeof *index) == sizeof *index &&
              sum_of(&index->count, sizeof *index - 4) == index->sum;
  if (fd >= 0) close(fd);
  if (!whole) memset(index, 0, sizeof *index);
  return whole;
}

static void mark(uint32_t slot) {
  int fd = opened("map", O_RDWR | O_CREAT);
  need(pwrite(fd, "x", 1, slot) == 1, "map");
  close(fd);
}

static uint32_t first_free(void) {
  char map[SLOTS] = {0};
  int fd = opened("map", O_RDWR | O_CREAT);
  need(read(fd, map, sizeof map) >= 0, "map");
  close(fd);
  for (uint32_t slot = 0; slot < SLOTS; slot++) {
    if (map[slot] != 'x') return slot;
  }
  need(0, "no slot is free");
  return 0;
}

static void add(char value) {
  struct index index;
  load(&index);
  uint32_t slot = first_free();
  int fd = opened("slots", O_RDWR | O_CREAT);
  need(pwrite(fd, &value, 1, slot * SECTOR) == 1 && fsync(fd) == 0, "slots");
  close(fd);
  index.slot[index.count++] = slot;
  index.sum = sum_of(&index.count, sizeof index - 4);
  fd = opened("index", O_RDWR | O_CREAT);
  need(pwrite(fd, &index, sizeof index, 0) == sizeof index && fsync(fd) == 0, "index");
  close(fd);
  mark(slot);
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  struct index index;
  if (is(verb, "setup")) {
    add('a');
    sync();
  }
  if (is(verb, "run")) {
    add('b');
    acknowledge("b");
  }
  if (is(verb, "check") && mended()) {
    load(&index);
    for (uint32_t i = 0; i < index.count; i++) mark(index.slot[i]);
  }
  if (is(verb, "continue")) add('c');
  if (is(verb, "dump")) {
    need(load(&index), "index");
    int fd = opened("slots", O_RDONLY);
    char value;
    for (uint32_t i = 0; i < index.count; i++) {
      need(pread(fd, &value, 1, index.slot[i] * SECTOR) == 1, "slots");
      printf("%c\n", value);
    }
  }
}
