#include "targets/pmdk/workload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char* name;
  int numbers; /* that follow the word */
} kKinds[] = {
    [kInsert] = {"insert", 2}, [kUpdate] = {"update", 2}, [kErase] = {"erase", 1},
    [kLookup] = {"lookup", 1}, [kRehash] = {"rehash", 0},
};

static void append(struct workload* workload, size_t* room, struct op op) {
  if (workload->count == *room) {
    *room = *room ? *room * 2 : 64;
    struct op* grown = realloc(workload->ops, *room * sizeof(*grown));
    if (!grown) {
      perror("realloc");
      exit(2);
    }
    workload->ops = grown;
  }
  workload->ops[workload->count++] = op;
}

/* splitmix64 */
static uint64_t next_random(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct workload workload_generate(size_t count, uint64_t seed) {
  struct workload workload = {0};
  size_t room = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t key = 1 + next_random(&seed) % (count / 2 + 1);
    const uint64_t value = 1000 + i;
    const uint64_t choice = next_random(&seed) % 16;
    const enum op_kind kind = choice < 8 ? kInsert : choice < 11 ? kUpdate : choice < 14 ? kErase : kLookup;
    append(&workload, &room, (struct op){.kind = kind, .key = key, .value = value});
  }
  return workload;
}

/* Whether `text`, whose comment was cut off, is one operation. */
static bool parse(const char* text, struct op* op) {
  char word[16];
  int used = 0;
  if (sscanf(text, "%15s%n", word, &used) != 1) return false;
  for (size_t kind = 0; kind < sizeof(kKinds) / sizeof(*kKinds); ++kind) {
    if (strcmp(word, kKinds[kind].name) != 0) continue;
    *op = (struct op){.kind = (enum op_kind)kind};
    uint64_t* numbers[] = {&op->key, &op->value};
    for (int i = 0; i < kKinds[kind].numbers; ++i) {
      char* end;
      errno = 0;
      *numbers[i] = strtoull(text + used, &end, 10);
      if (end == text + used || errno || *numbers[i] == 0 || strchr(text + used, '-')) return false;
      used = (int)(end - text);
    }
    return strspn(text + used, " \t\r\n") == strlen(text + used);
  }
  return false;
}

bool workload_read(const char* path, struct workload* workload) {
  *workload = (struct workload){0};
  FILE* file = fopen(path, "r");
  if (!file) {
    fprintf(stderr, "%s: %s. --ops takes a number of operations or a file of them.\n", path, strerror(errno));
    return false;
  }
  char line[128];
  size_t room = 0;
  bool good = true;
  for (int number = 1; good && fgets(line, sizeof(line), file); ++number) {
    line[strcspn(line, "#\n")] = '\0';
    if (strspn(line, " \t\r") == strlen(line)) continue;
    struct op op;
    good = parse(line, &op);
    if (good)
      append(workload, &room, op);
    else
      fprintf(stderr,
              "%s:%d: '%s' is no operation. Write 'insert KEY VALUE', 'update KEY VALUE', 'erase KEY', 'lookup KEY' or "
              "'rehash', with numbers from 1.\n",
              path, number, line);
  }
  fclose(file);
  if (!good) workload_free(workload);
  return good;
}

void workload_free(struct workload* workload) {
  free(workload->ops);
  *workload = (struct workload){0};
}
