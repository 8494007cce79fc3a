/* Tickets, each a file named by its number. The next number is kept in a file of its own, which is not synced. */
#include "common.h"

static int next(void) {
  int number = 1;
  FILE *file = fopen("next", "r");
  if (file) {
    if (fscanf(file, "%d", &number) != 1) number = 1;
    fclose(file);
  }
  return number;
}

static void keep_next(int number) {
  int fd = opened("next", O_WRONLY | O_CREAT | O_TRUNC);
  dprintf(fd, "%d\n", number);
  close(fd);
}

static int there(int number) {
  char name[16];
  snprintf(name, sizeof name, "ticket.%d", number);
  return open(name, O_RDONLY);
}

static void sell(const char *who) {
  char name[16];
  int number = next(), fd = opened("ticket.new", O_WRONLY | O_CREAT | O_TRUNC);
  put_all(fd, who, strlen(who));
  need(fsync(fd) == 0, "fsync");
  close(fd);
  snprintf(name, sizeof name, "ticket.%d", number);
  need(rename("ticket.new", name) == 0, "rename");
  sync_folder(".");
  keep_next(number + 1);
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) {
    sell("eve");
    sync();
  }
  if (is(verb, "run")) {
    sell("ada");
    acknowledge("ada");
  }
  if (is(verb, "check") && mended()) {
    int number = 1;
    while (there(number) >= 0) number++;
    keep_next(number);
  }
  if (is(verb, "continue")) sell("ben");
  if (is(verb, "dump")) {
    char who[16];
    for (int number = 1, fd; (fd = there(number)) >= 0; number++) {
      ssize_t size = read(fd, who, sizeof who);
      printf("%d %.*s\n", number, size > 0 ? (int)size : 0, who);
    }
  }
}
