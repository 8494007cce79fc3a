/* A total, and a journal of what comes to it. A restart brings the journal into the total, and removes it. */
#include "common.h"

struct addition {
  uint32_t sum, number;
};

static void add(uint32_t number, const char *what) {
  struct addition a = {.sum = sum_of(&number, sizeof number), .number = number};
  int fd = opened("journal.0", O_WRONLY | O_APPEND);
  put_all(fd, &a, sizeof a);
  fdatasync(fd);
  close(fd);
  acknowledge(what);
}

static void save(uint32_t generation, uint32_t total) {
  char text[64];
  int size = snprintf(text, sizeof text, "%u %u\n", generation, total);
  int fd = opened("total.tmp", O_WRONLY | O_CREAT | O_TRUNC);
  put_all(fd, text, size);
  fsync(fd);
  close(fd);
  need(rename("total.tmp", "total") == 0, "rename");
  sync_folder(".");
}

/* Returns the total with the journal of its generation. */
static uint32_t load(uint32_t *generation, char journal[32]) {
  uint32_t total = 0;
  struct addition a;
  FILE *file = fopen("total", "r");
  need(file && fscanf(file, "%u %u\n", generation, &total) == 2, "total: no numbers");
  fclose(file);
  snprintf(journal, 32, "journal.%u", *generation);
  int fd = open(journal, O_RDONLY);
  while (fd >= 0 && read(fd, &a, sizeof a) == sizeof a && sum_of(&a.number, sizeof a.number) == a.sum)
    total += a.number;
  return total;
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  uint32_t generation;
  char journal[32];
  if (is(verb, "setup")) {
    opened("journal.0", O_WRONLY | O_CREAT);
    save(0, 100);
  }
  if (is(verb, "run")) {
    add(5, "five");
    add(7, "seven");
  }
  if (is(verb, "dump")) printf("%u\n", load(&generation, journal));
  if (is(verb, "check")) {
    uint32_t total = load(&generation, journal);
    save(mended() ? generation + 1 : generation, total);
    unlink(journal);
    sync_folder(".");
  }
}
