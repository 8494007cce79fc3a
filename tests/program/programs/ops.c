/* A table of slots that works through lines of operations, for the tests of minimising them.
 *
 *   ops run POOL [FILE]   lines: "put SLOT VALUE", "seal SLOT"; without FILE from standard input
 *   ops check POOL        status 0 when the current copy of each slot is whole
 *
 * The mistake: a value that is put into a sealed slot is not made durable before its copy becomes current. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSlots = 16 };

struct copy {
  uint64_t value, check;
  char fill[48];
};
struct slot {
  struct copy copies[2];
  uint64_t current, sealed;
  char fill[48];
};
struct pool {
  struct slot slots[kSlots];
};

static void persist(const void* address) {
  __asm__ volatile("clwb %0" ::"m"(*(const char*)address) : "memory");
  __asm__ volatile("sfence" ::: "memory");
}

static int run(struct pool* pool, FILE* lines) {
  char name[8];
  unsigned long slot, value;
  while (fscanf(lines, "%7s %lu", name, &slot) == 2 && slot < kSlots) {
    struct slot* at = &pool->slots[slot];
    if (strcmp(name, "seal") == 0) {
      at->sealed = 1;
      persist(&at->sealed);
    } else if (strcmp(name, "put") == 0 && fscanf(lines, "%lu", &value) == 1) {
      struct copy* copy = &at->copies[1 - at->current];
      copy->value = value; /* lost */
      copy->check = ~value;
      if (!at->sealed) persist(copy);
      at->current = 1 - at->current; /* makes it current */
      persist(&at->current);
      if (at->sealed) persist(copy);
    } else {
      return 3;
    }
  }
  return feof(lines) ? 0 : 3;
}

static int check(const struct pool* pool) {
  for (int i = 0; i < kSlots; ++i) {
    const struct copy* copy = &pool->slots[i].copies[pool->slots[i].current];
    const int untouched = copy->value == 0 && copy->check == 0 && pool->slots[i].current == 0;
    if (untouched || copy->check == ~copy->value) continue;
    fprintf(stderr, "ops: slot %d is not whole\n", i);
    return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int running = strcmp(argv[1], "run") == 0;
  const int file = open(argv[2], O_RDWR | O_CREAT, 0644);
  if (file < 0 || (running && ftruncate(file, sizeof(struct pool)) != 0)) return 2;
  struct pool* pool = mmap(NULL, sizeof(struct pool), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 2;
  if (!running) return check(pool);
  FILE* lines = argc > 3 ? fopen(argv[3], "r") : stdin;
  return lines == NULL ? 2 : run(pool, lines);
}
