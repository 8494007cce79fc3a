/* A log in one file, written with nothing but pwrite and fsync: entries are appended, and the header says how many are
 * valid.
 *
 *   store create FILE    an empty log
 *   store run FILE       appends four entries
 *   store check FILE     what a restart does: exit 1 if an entry that the header counts is not what was written
 *   store dump FILE      the counted entries
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kBlock = 512, kMagic = 0x474f4c31 };

struct header {
  uint64_t magic;
  uint64_t entries;
};

struct entry {
  uint64_t key;
  char value[kBlock - 16];
  uint64_t checksum;
};

static uint64_t checksum(const struct entry* entry) {
  uint64_t sum = entry->key ^ 0x5851f42d4c957f2d;
  for (size_t i = 0; i < sizeof(entry->value); ++i) sum = sum * 31 + (uint8_t)entry->value[i];
  return sum;
}

static int put(int file, const void* bytes, size_t size, off_t offset) {
  return pwrite(file, bytes, size, offset) == (ssize_t)size ? 0 : 1;
}

static int append(int file, struct header* header, uint64_t key, const char* value) {
  struct entry entry = {.key = key};
  strncpy(entry.value, value, sizeof(entry.value) - 1);
  entry.checksum = checksum(&entry);
  if (put(file, &entry, sizeof(entry), (off_t)(1 + header->entries) * kBlock)) return 1;
#ifndef BUG
  if (fsync(file)) return 1; /* the entry first: what is counted must be there */
#endif
  header->entries += 1;
  if (put(file, header, sizeof(*header), 0)) return 1;
  return fsync(file) != 0;
}

static int check(int file, const struct header* header, int print) {
  for (uint64_t i = 0; i < header->entries; ++i) {
    struct entry entry = {0};
    const ssize_t size = pread(file, &entry, sizeof(entry), (off_t)(1 + i) * kBlock);
    if (size != sizeof(entry) || entry.checksum != checksum(&entry)) {
      printf("Entry %" PRIu64 " is counted, and not what was written.\n", i);
      return 1;
    }
    if (print) printf("%" PRIu64 "=%s\n", entry.key, entry.value);
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s create|run|check|dump FILE\n", argv[0]);
    return 2;
  }
  const int create = strcmp(argv[1], "create") == 0;
  const int file = open(argv[2], create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0644);
  struct header header = {.magic = kMagic};
  if (file >= 0 && create) return put(file, &header, sizeof(header), 0) || fsync(file);
  if (file < 0 || pread(file, &header, sizeof(header), 0) != sizeof(header) || header.magic != kMagic) {
    fprintf(stderr, "%s is no log\n", argv[2]);
    return 2;
  }
  if (strcmp(argv[1], "run") == 0) {
    static const char* const kValues[] = {"one", "two", "three", "four"};
    for (uint64_t i = 0; i < 4; ++i) {
      if (append(file, &header, i + 1, kValues[i])) return 1;
      printf("stored %" PRIu64 "\n", i + 1);
      fflush(stdout); /* now, and not when the buffer is full */
    }
    return 0;
  }
  return check(file, &header, strcmp(argv[1], "dump") == 0);
}
