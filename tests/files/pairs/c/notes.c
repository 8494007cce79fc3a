/* Notes by the C library's streams: each save writes all notes to a file beside the old one. */
#include "common.h"

static void save(const char *first, const char *second) {
  FILE *file = fopen("notes.new", "w");
  need(file != NULL, "notes.new");
  fprintf(file, "notes 2\n%s\n%s\n", first, second);
  if (mended()) fflush(file);
  fsync(fileno(file));
  fclose(file);
  need(rename("notes.new", "notes") == 0, "rename");
  sync_folder(".");
}

static void load(FILE *to) {
  char first[64], second[64];
  FILE *file = fopen("notes", "r");
  need(file && fscanf(file, "notes 2\n%63s\n%63s\n", first, second) == 2, "notes: not two notes");
  if (to) fprintf(to, "%s\n%s\n", first, second);
}

int main(int words, char **word) {
  const char *verb = enter(words, word);
  if (is(verb, "setup")) save("bread", "salt");
  if (is(verb, "run")) {
    save("bread", "butter");
    acknowledge("butter");
    save("wine", "butter");
    acknowledge("wine");
  }
  if (is(verb, "check")) load(NULL);
  if (is(verb, "dump")) load(stdout);
}
