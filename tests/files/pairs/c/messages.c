/* Messages, each a file of its own that ends with a line `.`: a restart removes those that do not. */
#include <dirent.h>

#include "common.h"

static void deliver(const char *name, const char *text) {
  int fd = opened(name, O_WRONLY | O_CREAT | O_EXCL);
  put_all(fd, text, strlen(text));
  fsync(fd);
  close(fd);
  if (mended()) sync_folder(".");
  acknowledge(name);
}

/* Whether the message is whole; its size is that of the text. */
static int whole(const char *name, char text[64]) {
  int fd = opened(name, O_RDONLY);
  ssize_t size = read(fd, text, 63);
  close(fd);
  text[size] = 0;
  return size > 2 && strlen(text) == (size_t)size && is(text + size - 3, "\n.\n");
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) deliver("1", "hello\n.\n");
  if (is(verb, "run")) {
    deliver("2", "are you there?\n.\n");
    deliver("3", "yes\n.\n");
  }
  if (is(verb, "check") || is(verb, "dump")) {
    struct dirent *entry;
    char text[64];
    DIR *folder = opendir(".");
    while ((entry = readdir(folder))) {
      if (entry->d_name[0] == '.') continue;
      if (!whole(entry->d_name, text)) {
        if (is(verb, "check")) unlink(entry->d_name);
      } else if (is(verb, "dump")) {
        printf("%s: %.*s\n", entry->d_name, (int)strcspn(text, "\n"), text);
      }
    }
  }
}
