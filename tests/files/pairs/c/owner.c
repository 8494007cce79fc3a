/* A file with one owner at a time. A restart reads the file, and leaves the owner's mark of the life before. */
#include "common.h"

static void save(const char *text) {
  int mark = open("owner", O_WRONLY | O_CREAT | O_EXCL, 0644);
  need(mark >= 0, "somebody owns the file");
  close(mark);
  int fd = opened("text.new", O_WRONLY | O_CREAT | O_TRUNC);
  put_all(fd, text, strlen(text));
  need(fsync(fd) == 0, "fsync");
  close(fd);
  need(rename("text.new", "text") == 0, "rename");
  sync_folder(".");
  unlink("owner");
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) save("one\n");
  if (is(verb, "run")) {
    save("two\n");
    acknowledge("two");
  }
  if (is(verb, "check") && mended()) unlink("owner");
  if (is(verb, "continue")) save("three\n");
  if (is(verb, "check") || is(verb, "dump")) {
    char text[16] = {0};
    need(read(opened("text", O_RDONLY), text, sizeof text - 1) > 0, "empty");
    fputs(text, stdout);
  }
}
