/* A ledger in a mapped file, written with nothing but intrinsics: entries are appended, and count says how many are
 * valid.
 *
 *   ledger create POOL    an empty ledger
 *   ledger run POOL       appends four entries
 *   ledger check POOL     what a restart does: exit 1 if a counted entry is not what was written
 *   ledger dump POOL      the counted entries
 */
#include <fcntl.h>
#include <immintrin.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct entry {
  uint64_t account;
  uint64_t amount;
  uint64_t checksum;
  uint64_t unused; /* two entries fill a line of 64 bytes, none lies across two */
};

enum { kEntries = 62 };

struct ledger {
  _Alignas(64) uint64_t count;
  _Alignas(64) struct entry entries[kEntries];
};

static uint64_t checksum(const struct entry* entry) {
  return (entry->account * 31 + entry->amount) ^ 0x5851f42d4c957f2d;
}

/* Returns when the bytes would survive a power cut. */
static void persist(const void* address, size_t size) {
  const uintptr_t end = (uintptr_t)address + size;
  for (uintptr_t line = (uintptr_t)address & ~(uintptr_t)63; line < end; line += 64) _mm_clwb((void*)line);
  _mm_sfence();
}

static int append(struct ledger* ledger, uint64_t account, uint64_t amount) {
  if (ledger->count == kEntries) return 1;
  struct entry* entry = &ledger->entries[ledger->count];
  entry->account = account;
  entry->amount = amount;
  entry->checksum = checksum(entry);
#ifndef BUG
  persist(entry, sizeof(*entry)); /* the entry first: what is counted must be there */
#endif
  ledger->count += 1;
  persist(&ledger->count, sizeof(ledger->count));
  return 0;
}

static int check(const struct ledger* ledger) {
  if (ledger->count > kEntries) {
    printf("The ledger counts %" PRIu64 " entries and has room for %d.\n", ledger->count, kEntries);
    return 1;
  }
  for (uint64_t i = 0; i < ledger->count; ++i) {
    if (ledger->entries[i].checksum != checksum(&ledger->entries[i])) {
      printf("Entry %" PRIu64 " is counted, and not what was written.\n", i);
      return 1;
    }
  }
  printf("%" PRIu64 " entries\n", ledger->count);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s create|run|check|dump POOL\n", argv[0]);
    return 2;
  }
  const int create = strcmp(argv[1], "create") == 0;
  const int file = open(argv[2], create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0644);
  if (file < 0 || (create && ftruncate(file, sizeof(struct ledger)) != 0)) {
    perror(argv[2]);
    return 2;
  }
  struct ledger* ledger = mmap(NULL, sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (ledger == MAP_FAILED) {
    perror("mmap");
    return 2;
  }
  if (strcmp(argv[1], "run") == 0) {
    for (uint64_t i = 1; i <= 4; ++i)
      if (append(ledger, i, 100 * i)) return 1;
  } else if (strcmp(argv[1], "check") == 0) {
    return check(ledger);
  } else if (strcmp(argv[1], "dump") == 0) {
    for (uint64_t i = 0; i < ledger->count; ++i)
      printf("%" PRIu64 "=%" PRIu64 "\n", ledger->entries[i].account, ledger->entries[i].amount);
  }
  return 0;
}
