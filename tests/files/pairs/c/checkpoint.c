/* A table of numbers, and a log before it: a checkpoint brings the log into the table, and empties the log. */
#include "common.h"

enum { SLOTS = 4, SLOT = 512 };
struct change {
  uint32_t sum, slot, number, unused;
};

static uint32_t sum(const struct change *c) { return sum_of(&c->slot, sizeof *c - sizeof c->sum); }

static void set(uint32_t slot, uint32_t number, const char *what) {
  struct change c = {.slot = slot, .number = number};
  c.sum = sum(&c);
  int log = opened("log", O_WRONLY | O_APPEND);
  put_all(log, &c, sizeof c);
  fdatasync(log);
  close(log);
  acknowledge(what);
}

static void load(uint32_t numbers[SLOTS], int table) {
  for (int i = 0; i < SLOTS; i++) need(pread(table, &numbers[i], 4, i * SLOT) == 4, "table: too short");
  struct change c;
  int log = opened("log", O_RDONLY);
  while (read(log, &c, sizeof c) == sizeof c && sum(&c) == c.sum) numbers[c.slot] = c.number;
  close(log);
}

static void checkpoint(void) {
  uint32_t numbers[SLOTS];
  int table = opened("table", O_RDWR), log = opened("log", O_RDWR);
  load(numbers, table);
  for (int i = 0; i < SLOTS; i++) need(pwrite(table, &numbers[i], 4, i * SLOT) == 4, "table");
  if (mended()) fsync(table);
  need(ftruncate(log, 0) == 0 && fsync(log) == 0, "log");
  close(table);
  close(log);
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) {
    need(ftruncate(opened("table", O_WRONLY | O_CREAT), SLOTS * SLOT) == 0, "table");
    opened("log", O_WRONLY | O_CREAT);
  }
  if (is(verb, "run")) {
    set(0, 10, "ten");
    set(2, 30, "thirty");
    checkpoint();
    set(0, 11, "eleven");
  }
  if (is(verb, "check")) checkpoint();
  if (is(verb, "dump")) {
    uint32_t numbers[SLOTS];
    load(numbers, opened("table", O_RDONLY));
    for (int i = 0; i < SLOTS; i++) printf("%d=%u\n", i, numbers[i]);
  }
}
