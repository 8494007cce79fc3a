/* Programs of the Valgrind tool's own tests: a pool that is a file, argv[1]. */
#ifndef POOL_H_
#define POOL_H_

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(99);                                                       \
    }                                                                 \
  } while (0)
#define AT(type, address) (*(volatile type*)(address))

static inline int open_file(const char* path, off_t size) {
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  CHECK(file >= 0);
  if (size != 0) CHECK(ftruncate(file, size) == 0);
  return file;
}

static inline char* map(int file, size_t size, off_t offset) {
  char* at = (char*)mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  CHECK(at != (char*)MAP_FAILED);
  return at;
}

#endif
