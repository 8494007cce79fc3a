/* A file of settings, which is written anew and renamed over the old one. */
#include "common.h"

static void save(const char *line) {
  int fd = opened("settings.tmp", O_WRONLY | O_CREAT | O_TRUNC);
  put_all(fd, line, strlen(line));
  if (mended()) fsync(fd);
  close(fd);
  need(rename("settings.tmp", "settings") == 0, "rename");
  sync_folder(".");
}

static void load(char line[64]) {
  int fd = opened("settings", O_RDONLY);
  ssize_t size = read(fd, line, 63);
  close(fd);
  line[size] = 0;
  need(strncmp(line, "colour=", 7) == 0 && line[size - 1] == '\n', "settings: no colour");
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  char line[64];
  if (is(verb, "setup")) save("colour=red\n");
  if (is(verb, "run")) {
    save("colour=blue\n");
    acknowledge("blue");
    save("colour=green\n");
    acknowledge("green");
  }
  if (is(verb, "check") || is(verb, "dump")) load(line);
  if (is(verb, "dump")) fputs(line, stdout);
}
