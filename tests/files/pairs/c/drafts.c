/* A text that is saved through a file beside it. A file that an earlier life left there is not emptied first. */
#include "common.h"

static void save(const char *text) {
  int fd = opened("text.new", O_WRONLY | O_CREAT | (mended() ? O_TRUNC : 0));
  put_all(fd, text, strlen(text));
  need(fsync(fd) == 0, "fsync");
  close(fd);
  need(rename("text.new", "text") == 0, "rename");
  sync_folder(".");
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) save("short.");
  if (is(verb, "run")) {
    save("a much longer text.");
    acknowledge("the longer text");
  }
  if (is(verb, "continue")) save("short again.");
  if (is(verb, "check") || is(verb, "dump")) {
    char text[64] = {0};
    int fd = opened("text", O_RDONLY);
    need(read(fd, text, sizeof text - 1) > 0, "empty");
    need(strchr(text, '.') == text + strlen(text) - 1, "the text does not end at its full stop");
    puts(text);
  }
}
