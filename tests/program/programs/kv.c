/* A key-value log in a mapped file, for the tests of program mode: raw mmap, clwb and sfence, no library.
 *
 *   kv run POOL [COUNT]   appends COUNT entries (3), each durable before the next one is begun
 *   kv check POOL         status 0 when every entry that the header counts is whole
 *   kv dump POOL          prints the entries that the header counts
 *

 * KV_BUG in the environment plants a mistake into `run`: "order" counts an entry that was not flushed; "early" counts
 * it before it is written; "unflushed" never flushes the count (only the dump shows it); "mirror" keeps the count
 * twice. KV_EXTRA makes any command do something odd first; the cases are at `odd`. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "powercut/mark.h"

enum { kSize = 8192, kMost = kSize / 64 - 2 };
static const uint64_t kMagic = 0x31474f4c564b5750;

struct entry {
  uint64_t key, value, check;
  char fill[40];
};
struct pool {
  uint64_t magic, count;
  char fill[48];
  uint64_t mirror; /* 0: not kept */
  char rest[56];
  struct entry entries[kMost];
};

static void flush(const void* address) { __asm__ volatile("clwb %0" ::"m"(*(const char*)address) : "memory"); }
static void fence(void) { __asm__ volatile("sfence" ::: "memory"); }

static int bug(const char* name) {
  const char* set = getenv("KV_BUG");
  return set != NULL && strcmp(set, name) == 0;
}

static struct pool* map(const char* path, int create) {
  const int file = open(path, create ? O_RDWR | O_CREAT : O_RDWR, 0644);
  if (file < 0 || (create && ftruncate(file, kSize) != 0)) {
    perror(path);
    exit(2);
  }
  struct pool* pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (pool == MAP_FAILED) {
    perror(path);
    exit(2);
  }
  return pool;
}

static void publish(struct pool* pool) {
  pool->count = pool->count + 1; /* publishes the entry */
  if (!bug("unflushed")) {
    flush(&pool->count);
    fence();
  }
}

static void append(struct pool* pool, uint64_t key) {
  powercut_mark_begin(POWERCUT_MARK_INSERT, &key, sizeof key, NULL, 0);
  struct entry* entry = &pool->entries[pool->count];
  if (bug("early")) publish(pool);
  entry->key = key;
  entry->value = 100 * key;
  entry->check = key ^ entry->value ^ kMagic;
  if (!bug("order")) {
    flush(entry);
    fence();
  }
  if (!bug("early")) publish(pool);
  if (bug("mirror")) {
    pool->mirror = pool->count; /* keeps it twice */
    flush(&pool->mirror);
    fence();
  }
  powercut_mark_end(0, NULL, 0);
}

static int run(const char* path, int count) {
  struct pool* pool = map(path, 1);
  if (pool->magic == 0) {
    pool->magic = kMagic;
    flush(&pool->magic);
    fence();
  }
  for (int i = 0; i < count; ++i) append(pool, pool->count + 1);
  return munmap(pool, kSize);
}

static int check(const char* path) {
  const struct pool* pool = map(path, 0);
  if (pool->magic == 0) return 0; /* not begun */
  if (pool->magic != kMagic || pool->count > kMost) {
    fprintf(stderr, "kv: bad header\n");
    return 1;
  }
  if (pool->mirror != 0 && pool->mirror != pool->count) {
    fprintf(stderr, "kv: two counts\n");
    return 1;
  }
  for (uint64_t i = 0; i < pool->count; ++i) {
    const struct entry* entry = &pool->entries[i];
    if (entry->key == i + 1 && entry->check == (entry->key ^ entry->value ^ kMagic)) continue;
    fprintf(stderr, "kv: entry %lu is not whole\n", (unsigned long)i);
    return 1;
  }
  return 0;
}

static int dump(const char* path) {
  const struct pool* pool = map(path, 0);
  for (uint64_t i = 0; pool->magic == kMagic && i < pool->count; ++i) {
    printf("%lu=%lu\n", (unsigned long)pool->entries[i].key, (unsigned long)pool->entries[i].value);
  }
  return 0;
}

static void odd(const char* what) {
  if (strcmp(what, "exit") == 0) exit(3);
  if (strcmp(what, "segv") == 0) raise(SIGSEGV);
  if (strcmp(what, "nomap") == 0) exit(0);
  if (strcmp(what, "hang") == 0) pause();
  if (strcmp(what, "stubborn") == 0) {
    signal(SIGTERM, SIG_IGN);
    for (;;) pause();
  }
  if (strcmp(what, "fork") == 0) {
    if (fork() == 0) _exit(0);
    wait(NULL);
  }
  if (strcmp(what, "children") == 0 && fork() == 0) {
    setsid();
    for (;;) pause();
  }
  if (strcmp(what, "chatter") == 0) {
    static char line[1 << 16];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    puts("the first line");
    for (int i = 0; i < 1 << 12; ++i) fwrite(line, sizeof line, 1, stdout);
    puts("the last line");
  }
  if (strcmp(what, "random") == 0) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%ld %ld\n", (long)now.tv_sec, now.tv_nsec);
  }
  if (strcmp(what, "fail") == 0) {
    fprintf(stderr, "kv: I never recover\n");
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* extra = getenv("KV_EXTRA");
  /* "run:hang" for one command only, "hang" for each. */
  const char* only = extra != NULL ? strchr(extra, ':') : NULL;
  if (only != NULL) {
    if (strncmp(extra, argv[1], (size_t)(only - extra)) == 0) odd(only + 1);
  } else if (extra != NULL) {
    odd(extra);
  }
  if (strcmp(argv[1], "run") == 0) return run(argv[2], argc > 3 ? atoi(argv[3]) : 3);
  if (strcmp(argv[1], "check") == 0) return check(argv[2]);
  if (strcmp(argv[1], "dump") == 0) return dump(argv[2]);
  return 2;
}
