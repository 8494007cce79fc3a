/* An account in a file that is renamed over the old one, and a log of its changes. The log's sync comes last. */
#include "common.h"

static void save(const char *path, const char *text) {
  int fd = opened("account.tmp", O_WRONLY | O_CREAT | O_TRUNC);
  put_all(fd, text, strlen(text));
  fsync(fd);
  close(fd);
  need(rename("account.tmp", path) == 0, "rename");
  if (mended()) sync_folder(".");
}

static void note(const char *text) {
  int fd = opened("log", O_WRONLY | O_APPEND | O_CREAT);
  put_all(fd, text, strlen(text));
  fsync(fd);
  close(fd);
  acknowledge(text);
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) {
    save("account", "100\n");
    note("opened");
  }
  if (is(verb, "run")) {
    save("account", "90\n");
    note("paid");
    save("account", "120\n");
    note("earned");
  }
  if (is(verb, "check") || is(verb, "dump")) {
    int fd = opened("account", O_RDONLY);
    char text[16] = "";
    need(read(fd, text, 15) > 1 && text[strlen(text) - 1] == '\n', "account: damaged");
    if (is(verb, "dump")) fputs(text, stdout);
  }
}
