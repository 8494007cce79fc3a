/* The costs of recording: a hash table in a mapped file. argv: the file, operations, lookups for each insert.
 *
 * An insert persists an item of one line, then the slot that points to the item, with a flush and a fence each. The
 * schemes of this repository do so, too. The flush is clwb, or nothing under a Valgrind that has no clwb: its clflush
 * throws translated code away, which would make the table slow for no reason of powercut's. Lookups only read. */
#include <cpuid.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kItem = 64 };

typedef struct {
  uint64_t key, words[7];
} item;

static uint64_t hash(uint64_t key) {
  for (int i = 0; i < 4; ++i) {
    key ^= key >> 31;
    key *= 0x9E3779B97F4A7C15u;
  }
  return key;
}

static int has_clwb;

__attribute__((target("clwb"))) static void persist(void* line) {
  if (has_clwb) _mm_clwb(line);
  _mm_sfence();
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const uint64_t operations = strtoull(argv[2], 0, 10), lookups = strtoull(argv[3], 0, 10);
  unsigned eax, ebx, ecx, edx;
  has_clwb = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx >> 24 & 1) != 0;
  uint64_t slots = 1;
  while (slots < 2 * operations) slots *= 2;
  const size_t size = slots * 8 + (operations + 1) * kItem;
  const int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)size) != 0) return 1;
  char* pool = (char*)mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (pool == (char*)MAP_FAILED) return 1;
  volatile uint64_t* table = (volatile uint64_t*)pool;
  item* items = (item*)(pool + slots * 8);
  uint64_t found = 0;
  for (uint64_t key = 1; key <= operations; ++key) {
    item* now = &items[key];
    now->key = key;
    for (int i = 0; i < 7; ++i) ((volatile uint64_t*)now->words)[i] = key + (uint64_t)i;
    persist(now);
    uint64_t at = hash(key) & (slots - 1);
    while (table[at] != 0) at = (at + 1) & (slots - 1);
    table[at] = key;
    persist((void*)&table[at]);
    for (uint64_t i = 0; i < lookups; ++i) {
      const uint64_t wanted = 1 + hash(key * 31 + i) % key;
      uint64_t look = hash(wanted) & (slots - 1);
      while (items[table[look]].key != wanted) look = (look + 1) & (slots - 1);
      found += items[table[look]].words[6];
    }
  }
  return found == 1;
}
