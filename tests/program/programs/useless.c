/* Flushes and fences that do nothing, and a store that nobody makes durable, for the tests of performance bugs.
 *
 *   useless run POOL     `kept` persists as it should; the lines with a comment do something that is useless
 *   useless check POOL   accepts everything */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSize = 8192 };

struct pool {
  uint64_t kept;
  char fill[56];
  uint64_t lost;
  char more[56];
  uint64_t counter;
  char rest[56];
};

static void clwb(const void* address) { __asm__ volatile("clwb %0" ::"m"(*(const char*)address) : "memory"); }
static void sfence(void) { __asm__ volatile("sfence" ::: "memory"); }
static void persist(const void* address) {
  clwb(address);
  sfence();
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (strcmp(argv[1], "run") != 0) return 0;
  const int file = open(argv[2], O_RDWR | O_CREAT, 0644);
  if (file < 0 || ftruncate(file, kSize) != 0) return 2;
  struct pool* pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == MAP_FAILED) return 2;
  pool->kept = 9;
  clwb(&pool->kept);
  sfence();
  if (fsync(file) != 0) return 2; /* for the size of the file */
  if (fsync(file) != 0) return 2; /* useless sync */
  for (uint64_t i = 0; i < 4; ++i) {
    pool->kept = i + 1;
    persist(&pool->kept);
    if (i == 2) clwb(&pool->kept); /* useless flush */
    if (i != 0) sfence();          /* useless fence */
    pool->counter = i + 1;         /* durable but for the last time */
    if (i != 3) persist(&pool->counter);
  }
  __sync_synchronize(); /* for other threads */
  pool->lost = 7;       /* never durable */
  return 0;
}
