/* Photos in one file, and an index of 16 bytes a photo in another one. */
#include "common.h"

struct entry {
  uint32_t sum, offset, size, photo_sum;
};

static uint32_t sum(const struct entry *e) { return sum_of(&e->offset, sizeof *e - sizeof e->sum); }

static void add(const char *name, int letter) {
  char photo[600];
  memset(photo, letter, sizeof photo);
  int photos = opened("photos", O_WRONLY | O_APPEND | O_CREAT), index = opened("index", O_WRONLY | O_APPEND | O_CREAT);
  struct entry e = {.offset = lseek(photos, 0, SEEK_END), .size = sizeof photo};
  e.photo_sum = sum_of(photo, sizeof photo);
  e.sum = sum(&e);
  put_all(photos, photo, sizeof photo);
  if (mended()) fsync(photos);
  put_all(index, &e, sizeof e);
  fsync(index);
  if (!mended()) fsync(photos);
  close(photos);
  close(index);
  acknowledge(name);
}

static void check(FILE *to) {
  int photos = opened("photos", O_RDONLY), index = opened("index", O_RDONLY);
  struct entry e;
  while (read(index, &e, sizeof e) == sizeof e && sum(&e) == e.sum) {
    char photo[600];
    need(pread(photos, photo, e.size, e.offset) == e.size, "a photo of the index is not there");
    need(sum_of(photo, e.size) == e.photo_sum, "a photo is damaged");
    if (to) fprintf(to, "%c %u\n", photo[0], e.size);
  }
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) add("a", 'a');
  if (is(verb, "run")) {
    add("b", 'b');
    add("c", 'c');
  }
  if (is(verb, "check")) check(NULL);
  if (is(verb, "dump")) check(stdout);
}
