/* A balance, changed by way of a journal, which a restart replays. A small correction goes without the journal. */
#include "common.h"

struct entry {
  uint32_t sum, value;
};

static void put(const char *path, uint32_t value) {
  struct entry e = {.sum = sum_of(&value, sizeof value), .value = value};
  int fd = opened(path, O_WRONLY | O_CREAT);
  need(pwrite(fd, &e, sizeof e, 0) == sizeof e, "short write");
  need(fsync(fd) == 0, "fsync");
  close(fd);
}

/* Returns whether the file is there and whole. */
static int get(const char *path, uint32_t *value) {
  struct entry e;
  int fd = open(path, O_RDONLY);
  int whole = fd >= 0 && read(fd, &e, sizeof e) == sizeof e && sum_of(&e.value, sizeof e.value) == e.sum;
  if (fd >= 0) close(fd);
  *value = whole ? e.value : 0;
  return whole;
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  uint32_t value;
  if (is(verb, "setup")) {
    put("balance", 100);
    sync_folder(".");
  }
  if (is(verb, "run")) {
    put("journal", 150);
    sync_folder(".");
    put("balance", 150);
    unlink("journal");
    acknowledge("150");
  }
  if (is(verb, "check")) {
    if (get("journal", &value)) put("balance", value);
    if (mended()) {
      unlink("journal");
      sync_folder(".");
    }
  }
  if (is(verb, "continue")) put("balance", 151);
  if (is(verb, "dump")) {
    need(get("balance", &value), "the balance is not whole");
    printf("%u\n", value);
  }
}
