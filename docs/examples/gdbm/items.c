/* Items in a database of GNU dbm, which is asked to have each on the disk before the next (GDBM_SYNC). Built with
 * -DSYNC, the program sees to that itself.
 *
 *   items put FILE FIRST LAST    the items FIRST to LAST; makes FILE if there is none
 *   items recover FILE           opens FILE as a restart does; mends it where that fails
 *   items list FILE              prints all items */
#include <gdbm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "powercut/mark.h"

static int put(GDBM_FILE file, int number) {
  char text[16];
  const int size = snprintf(text, sizeof(text), "item%d", number);
  const datum item = {.dptr = text, .dsize = size};
  powercut_mark_begin(POWERCUT_MARK_INSERT, text, (unsigned long)size, text, (unsigned long)size);
  int status = gdbm_store(file, item, item, GDBM_INSERT);
#ifdef SYNC
  if (status == 0) status = gdbm_sync(file);
#endif
  powercut_mark_end(status == 0 ? 0 : 1, NULL, 0);
  return status;
}

/* All items are read: gdbm notices what is wrong when it comes to it. */
static int walk(GDBM_FILE file, int print) {
  for (datum key = gdbm_firstkey(file), next; key.dptr != NULL; key = next) {
    const datum value = gdbm_fetch(file, key);
    if (value.dptr == NULL) return -1;
    if (print) printf("%.*s=%.*s\n", key.dsize, key.dptr, value.dsize, value.dptr);
    next = gdbm_nextkey(file, key);
    free(value.dptr);
    free(key.dptr);
  }
  return gdbm_errno == GDBM_ITEM_NOT_FOUND ? 0 : -1;
}

int main(int argc, char** argv) {
  const char* verb = argc > 2 ? argv[1] : "";
  const int puts = strcmp(verb, "put") == 0 && argc == 5;
  if (!puts && strcmp(verb, "recover") != 0 && strcmp(verb, "list") != 0) {
    fprintf(stderr, "usage: items put FILE FIRST LAST | recover FILE | list FILE\n");
    return 2;
  }
  /* By write, not by a mapping. */
  const int flags = (puts ? GDBM_WRCREAT : GDBM_WRITER) | GDBM_SYNC | GDBM_NOMMAP;
  GDBM_FILE file = gdbm_open(argv[2], 0, flags, 0644, NULL);
  int status = file == NULL ? -1 : 0;
  for (int i = puts ? atoi(argv[3]) : 1; status == 0 && puts && i <= atoi(argv[4]); ++i) status = put(file, i);
  if (status == 0 && !puts) status = walk(file, strcmp(verb, "list") == 0);
  if (status != 0 && file != NULL && strcmp(verb, "recover") == 0) status = gdbm_recover(file, NULL, 0);
  if (status != 0) printf("%s\n", gdbm_strerror(gdbm_errno));
  if (file != NULL) gdbm_close(file);
  return status != 0;
}
