/* A counter that one process at a time may raise: a lock file says who is there. */
#include "common.h"

static int lock(void) {
  if (mended()) {
    int fd = opened("lock", O_RDWR | O_CREAT);
    need(flock(fd, LOCK_EX | LOCK_NB) == 0, "lock: another process is at work");
    return fd;
  }
  int fd = open("lock", O_RDWR | O_CREAT | O_EXCL, 0644);
  need(fd >= 0, "lock: another process is at work");
  return fd;
}

static void unlock(int fd) {
  if (!mended()) unlink("lock");
  close(fd);
}

static void set(int number) {
  char text[16];
  int size = snprintf(text, sizeof text, "%d\n", number), fd = opened("counter.tmp", O_WRONLY | O_CREAT | O_TRUNC);
  put_all(fd, text, size);
  fsync(fd);
  close(fd);
  need(rename("counter.tmp", "counter") == 0, "rename");
  sync_folder(".");
}

static int get(void) {
  int number = 0;
  FILE *file = fopen("counter", "r");
  need(file && fscanf(file, "%d\n", &number) == 1, "counter: no number");
  fclose(file);
  return number;
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) set(1);
  if (is(verb, "dump")) printf("%d\n", get());
  if (is(verb, "check") || is(verb, "run")) {
    int fd = lock(), number = get();
    if (is(verb, "run")) {
      set(number + 1);
      acknowledge("one");
      set(number + 2);
      acknowledge("two");
    }
    unlock(fd);
  }
}
