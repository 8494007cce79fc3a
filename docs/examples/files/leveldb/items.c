/* Items in LevelDB: items setup|run|check|dump FOLDER [COUNT]. `run` opens the database, puts COUNT items, each with a
 * sync, and prints `stored KEY` when LevelDB has returned. `check` is the restart: it opens the database and reads. */
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(char *error) {
  if (!error) return;
  fprintf(stderr, "%s\n", error);
  exit(1);
}

int main(int words, char **word) {
  if (words < 3) return 2;
  const char *verb = word[1];
  char *error = NULL;
  char folder[4096];
  snprintf(folder, sizeof folder, "%s/db", word[2]);
  leveldb_options_t *options = leveldb_options_create();
  leveldb_options_set_create_if_missing(options, 1);
  leveldb_options_set_paranoid_checks(options, 0);
  leveldb_t *db = leveldb_open(options, folder, &error);
  need(error);
  leveldb_writeoptions_t *synced = leveldb_writeoptions_create();
  leveldb_writeoptions_set_sync(synced, 1);
  const int is_run = strcmp(verb, "run") == 0, count = words > 3 ? atoi(word[3]) : is_run ? 3 : 1;
  if (is_run || strcmp(verb, "setup") == 0) {
    for (int i = 0; i < count; i++) {
      char key[32], value[64];
      snprintf(key, sizeof key, "%s %d", verb, i);
      snprintf(value, sizeof value, "value of %s", key);
      leveldb_put(db, synced, key, strlen(key), value, strlen(value), &error);
      need(error);
      printf("stored %s\n", key);
      fflush(stdout);
    }
  } else {
    leveldb_readoptions_t *checked = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(checked, 1);
    leveldb_iterator_t *at = leveldb_create_iterator(db, checked);
    for (leveldb_iter_seek_to_first(at); leveldb_iter_valid(at); leveldb_iter_next(at)) {
      size_t key_size, value_size;
      const char *key = leveldb_iter_key(at, &key_size), *value = leveldb_iter_value(at, &value_size);
      if (strcmp(verb, "dump") == 0) printf("%.*s: %.*s\n", (int)key_size, key, (int)value_size, value);
    }
    leveldb_iter_get_error(at, &error);
    need(error);
    leveldb_iter_destroy(at);
  }
  leveldb_close(db);
}
