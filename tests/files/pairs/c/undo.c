/* A page that is overwritten in place, with the old one kept as `undo` in the meantime. */
#include "common.h"

enum { PAGE = 1024 };

static void load(const char *path, char page[PAGE]) {
  int fd = opened(path, O_RDONLY);
  need(read(fd, page, PAGE) == PAGE, "page: too short");
  close(fd);
}

static void keep_old(void) {
  if (!mended()) {
    need(link("page", "undo") == 0, "link");
    return;
  }
  char page[PAGE];
  load("page", page);
  int fd = opened("undo.tmp", O_WRONLY | O_CREAT | O_TRUNC);
  put_all(fd, page, PAGE);
  fsync(fd);
  close(fd);
  need(rename("undo.tmp", "undo") == 0, "rename");
}

static void fill(int letter, const char *what) {
  char page[PAGE];
  memset(page, letter, PAGE);
  keep_old();
  sync_folder(".");
  int fd = opened("page", O_WRONLY);
  put_all(fd, page, PAGE);
  fsync(fd);
  close(fd);
  unlink("undo");
  sync_folder(".");
  acknowledge(what);
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  char page[PAGE];
  if (is(verb, "setup")) {
    memset(page, 'a', PAGE);
    put_all(opened("page", O_WRONLY | O_CREAT), page, PAGE);
  }
  if (is(verb, "run")) {
    fill('b', "b");
    fill('c', "c");
  }
  if (is(verb, "check") && access("undo", F_OK) == 0) {
    need(rename("undo", "page") == 0, "rename");
    sync_folder(".");
  }
  if (is(verb, "check") || is(verb, "dump")) {
    load("page", page);
    for (int i = 1; i < PAGE; i++) need(page[i] == page[0], "page: half old, half new");
  }
  if (is(verb, "dump")) printf("%c\n", page[0]);
}
