/* `powercut-canary`: a program with a planted bug, for the canary of program mode (powercut/gate/canary.py).
 *
 *   powercut-canary order POOL   commits a record that was never flushed (a bug where caches are lost)
 *   powercut-canary pair POOL    changes two words that belong together one after the other (a bug everywhere)
 *   powercut-canary check POOL   status 0 when what is committed is whole and the pair agrees */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSize = 4096 };

/* Each member has a line of its own. */
struct pool {
  uint64_t committed, unused_a[7];
  uint64_t record, unused_b[7];
  uint64_t left, unused_c[7];
  uint64_t right, unused_d[7];
};
static const uint64_t kRecord = 0x5245434f52443031;

static void flush(const void* address) { __asm__ volatile("clwb %0" ::"m"(*(const char*)address) : "memory"); }
static void fence(void) { __asm__ volatile("sfence" ::: "memory"); }

static void store_durably(uint64_t* word, uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
  flush(word);
  fence();
}

static struct pool* map(const char* path, int create) {
  const int file = open(path, create ? O_RDWR | O_CREAT : O_RDWR, 0644);
  if (file < 0 || (create && ftruncate(file, kSize) != 0)) return NULL;
  struct pool* pool = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return pool == MAP_FAILED ? NULL : pool;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "powercut-canary order|pair|check POOL\n");
    return 2;
  }
  struct pool* pool = map(argv[2], strcmp(argv[1], "check") != 0);
  if (pool == NULL) {
    perror(argv[2]);
    return 2;
  }
  if (strcmp(argv[1], "order") == 0) {
    __atomic_store_n(&pool->record, kRecord, __ATOMIC_RELAXED);
    store_durably(&pool->committed, 1);
    store_durably(&pool->record, kRecord);
  } else if (strcmp(argv[1], "pair") == 0) {
    store_durably(&pool->left, 1);
    store_durably(&pool->right, 1);
  } else if ((pool->committed != 0 && pool->record != kRecord) || pool->left != pool->right) {
    fprintf(stderr, "damaged\n");
    return 1;
  }
  return 0;
}
